terraform {
  required_providers { docker = { source = "kreuzwerker/docker" } }
}

provider "docker" {
  host = "unix:///var/run/docker.sock"
  registry_auth {
    address  = "https://index.docker.io/v1/"
    username = "robot"
    password = "hunter2-docker"
  }
  registry_auth {
    address     = "registry.example.com:5000"
    config_file = pathexpand("~/.docker/config.json")
  }
  registry_auth {
    address             = "content.example.com"
    config_file_content = <<-JSON
      {"auths": {"content.example.com": {"auth": "cm9ib3Q6aHVudGVyMg=="}}}
    JSON
  }
  registry_auth { address = "default.example.com" }
  registry_auth {
    address             = "nothing.example.com"
    config_file_content = "{}"
  }
  registry_auth {
    address             = "broken.example.com"
    config_file_content = "hunter2"
  }
  registry_auth {
    address             = "computed.example.com"
    config_file_content = jsonencode({ auths = {} })
  }
  registry_auth {
    address     = "both.example.com"
    username    = "robot"
    password    = "hunter2-both"
    config_file = "config.json"
  }
  registry_auth {
    address       = "open.example.com"
    auth_disabled = true
  }
}

provider "helm" {
  kubernetes { config_path = "~/.kube/config" }
  registry {
    url      = "oci://v2.example.com/charts"
    username = "robot"
    password = data.aws_ecr_authorization_token.token.password
  }
}

provider "helm" {
  alias = "v3"
  registries = [
    { url = "oci://v3.example.com", username = "robot", password = "hunter2-v3" }, /* two of them */
    {
      url      = "oci://*.example.com"
      username = "robot"
      password = local.password
    },
  ]
}
