# Registries of the platform
variable "password" { sensitive = true }

resource "spectrocloud_registry_oci" "charts" {
  name          = "charts" // the name in Palette
  type          = "basic"
  endpoint      = "https://harbor.example.com"
  provider_type = "helm"
  is_private    = true
  credentials {
    credential_type = "basic"
    username        = "robot$${x}"
    password        = "hunter2-\"literal\""
    tls_config {
      certificate          = <<-EOT
        -----BEGIN CERTIFICATE-----
        MIIB
        -----END CERTIFICATE-----
      EOT
      insecure_skip_verify = false
    }
  }
}

resource "spectrocloud_registry_oci" "variable" {
  type     = "basic"
  endpoint = "https://variable.example.com"
  credentials {
    credential_type = "basic"
    username        = "robot"
    password        = var.password
  }
}

resource "spectrocloud_registry_oci" "each" {
  for_each = toset(["a", "b"])
  type     = "basic"
  endpoint = "https://${each.key}.example.com"
  credentials { credential_type = "noAuth" }
}

resource "harbor_registry" "ca" {
  provider_name  = "harbor"
  name           = "ca"
  endpoint_url   = "https://other.example.com"
  access_id      = "robot"
  access_secret  = "hunter2-harbor"
  insecure       = false
  ca_certificate = file("${path.module}/ca.pem")
}

output "x" { value = { for k, v in var.y : k => "}" } }
