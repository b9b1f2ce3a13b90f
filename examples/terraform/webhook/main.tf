terraform {
  required_providers {
    helm = {
      source  = "hashicorp/helm"
      version = "3.1.2"
    }
  }
}

provider "helm" {
  kubernetes = {
    config_path = "~/.kube/config"
  }
}

resource "helm_release" "webhook" {
  name             = "mackerel-agent-injector"
  namespace        = "mackerel"
  create_namespace = true
  chart            = "${path.module}/../../../webhook/chart"
  values           = [file("${path.module}/values.yaml")]
}
