resource "helm_release" "podinfo" {
  name                = "podinfo"
  repository          = "oci://registry.example.com/charts"
  chart               = "podinfo"
  repository_username = "robot"
  repository_password = "hunter2"
}

resource "helm_release" "public" {
  chart = "oci://ghcr.io/stefanprodan/charts/podinfo"
}

resource "helm_release" "classic" {
  repository = "https://charts.example.com"
  chart      = "podinfo"
}

resource "helm_release" "computed" {
  repository = var.repository
  chart      = "podinfo"
}

resource "kubernetes_secret" "computed" {
  type = "kubernetes.io/dockerconfigjson"
  data = {
    ".dockerconfigjson" = jsonencode({ auths = {} })
  }
}

resource "kubernetes_secret_v1" "literal" {
  type = "kubernetes.io/dockerconfigjson"
  data = {
    ".dockerconfigjson" = "{\"auths\": {\"registry.example.com\": {\"username\": \"robot\", \"password\": \"hunter2\"}}}"
  }
}

resource "kubernetes_manifest" "repository" {
  manifest = {
    apiVersion = "source.toolkit.fluxcd.io/v1"
    kind       = "HelmRepository"
    metadata   = { name = "charts", namespace = "flux-system" }
    spec       = { type = "oci", url = "oci://registry.example.com/charts" }
  }
}

resource "helm_release" "karpenter" {
  repository          = "oci://public.ecr.aws/karpenter"
  chart               = "karpenter"
  repository_username = data.aws_ecrpublic_authorization_token.token.user_name
  repository_password = data.aws_ecrpublic_authorization_token.token.password
}
