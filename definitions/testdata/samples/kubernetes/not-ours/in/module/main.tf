# managed = {
#   secrets_yaml = <<-YAML
#     kind: Secret
#     type: kubernetes.io/dockerconfigjson
#       .dockerconfigjson: '${replace(local.auth, "'", "''")}'
# }
module "bootstrap" {
  source = "./bootstrap"
}
