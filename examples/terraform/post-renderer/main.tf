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

resource "helm_release" "shop" {
  name      = "shop"
  namespace = "shop"
  chart     = "${path.module}/../../helm/shop"

  # Terraform upgrades a release only if one of these values changes. So one of them changes with the file.
  description = "agent-injector.yaml ${filesha256("${path.module}/agent-injector.yaml")}"

  postrender = {
    binary_path = "mackerel-agent-injector"
    args        = ["--namespace=shop", "--config=${path.module}/agent-injector.yaml"]
  }
}
