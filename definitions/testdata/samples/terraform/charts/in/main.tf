resource "helm_release" "exact" {
  name                = "nginx"
  repository          = "https://charts.example.com/stable"
  chart               = "nginx"
  version             = "1.2.3"
  repository_username = "robot"
  repository_password = "hunter2"
  repository_ca_file  = "ca.pem"
  pass_credentials    = true
}

resource "helm_release" "variable" {
  name                = "nginx"
  repository          = "https://charts.example.com/stable"
  chart               = "nginx"
  version             = var.version
  repository_username = "robot"
  repository_password = var.password
}

resource "helm_release" "query" {
  name       = "nginx"
  repository = "https://charts.example.com/stable?token=hunter2"
  chart      = "nginx"
}
