provider "docker" {
  registry_auth {
    password = "hunter2
