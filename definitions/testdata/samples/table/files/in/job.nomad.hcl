job "web" {
  group "web" {
    task "first" {
      driver = "docker"
      config {
        image = "registry.example.com/team/web:1.2"
        auth {
          username = "robot"
          password = "hunter2-nomad"
        }
      }
    }
    task "second" {
      config {
        image = "redis:7"
      }
    }
  }
}
