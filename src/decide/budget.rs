//! A pod with requests and limits of its own, beside those of its containers.
//!
//! Kubernetes holds every container's limit, and the requests of all of them together, to the pod's own. What the agent has by
//! default is therefore left away in such a pod; what somebody sets for it may be too much.

use super::Case;
use crate::agent::Agent;
use crate::config::quantity::nanos;
use crate::find::member;
use crate::patch::escape;
use crate::pod_template::{Container, ContainerList};
use crate::report::{Finding, Reason};
use crate::resource::text;
use serde_json::Value;
use std::collections::BTreeSet;

impl Case<'_, '_> {
    #[cold]
    pub(super) fn warn_of_the_pods_own_resources(&mut self, agent: &Agent) {
        let resources = &agent.container["resources"];
        let names = ["limits", "requests"].into_iter().filter_map(|list| resources[list].as_object());
        let names: BTreeSet<&String> = names.flat_map(|list| list.keys()).collect();
        for name in names {
            let limit = self.limit_above_the_pods(resources, name);
            // A limit that is taken for the request is told once.
            let is_told = limit.is_some() && amount(resources, "requests", name).is_none();
            let requests = if is_told { None } else { self.requests_above_the_pods(resources, name) };
            self.warnings.extend(limit.into_iter().chain(requests));
        }
    }

    fn limit_above_the_pods(&self, agent: &Value, name: &str) -> Option<Finding> {
        let (limit, of_pod) = (amount(agent, "limits", name)?, self.of_pod("limits", name)?);
        let message = format!("it limits all of the pod to {of_pod}, and the agent alone has a limit of {limit}");
        (nanos(limit)? > nanos(&of_pod)?).then(|| self.too_much(message, "limits", name, "limits"))
    }

    /// A limit is the request of who names none, also for the pod.
    fn requests_above_the_pods(&self, agent: &Value, name: &str) -> Option<Finding> {
        let lists = ["requests", "limits"];
        let (list, ours) = lists.into_iter().find_map(|list| Some((list, amount(agent, list, name)?)))?;
        let (pods_list, of_pod) = lists.into_iter().find_map(|list| Some((list, self.of_pod(list, name)?)))?;
        let others = self.template.containers.iter().filter(|container| self.runs_beside_the_others(container));
        let others: i128 = others.filter_map(|container| nanos(&self.request(container, name)?)).sum();
        let (ours_in_nanos, bound) = (nanos(ours)?, nanos(&of_pod)?);
        let message =
            format!("its containers may request {of_pod} together, and with the agent's {ours} they request more");
        let is_too_much = others <= bound && others + ours_in_nanos > bound;
        is_too_much.then(|| self.too_much(message, pods_list, name, list))
    }

    /// Of an init container that ends, only the highest request counts.
    fn runs_beside_the_others(&self, container: &Container) -> bool {
        match container.list {
            ContainerList::Containers => true,
            ContainerList::InitContainers => {
                text(self.tree, container.node, "restartPolicy").is_some_and(|policy| policy == "Always")
            }
            ContainerList::EphemeralContainers => false,
        }
    }

    fn request(&self, container: &Container, name: &str) -> Option<String> {
        let resources = member(self.tree, container.node, "resources")?;
        let amount = |list| text(self.tree, member(self.tree, resources, list)?, name);
        amount("requests").or_else(|| amount("limits"))
    }

    fn of_pod(&self, list: &str, name: &str) -> Option<String> {
        let resources = member(self.tree, self.template.spec?, "resources")?;
        text(self.tree, member(self.tree, resources, list)?, name)
    }

    /// `pods_list` and `name` say which of the pod's amounts, `list` which of the agent's.
    fn too_much(&self, what: String, pods_list: &str, name: &str, list: &str) -> Finding {
        let message = format!("{what}: Kubernetes would refuse the pod");
        let help =
            format!("raise it, or take `agent.resources.{list}.{name}` away: the agent then shares what the pod has");
        let path = ["resources", pods_list, name];
        let node = path.into_iter().try_fold(self.template.spec, |node, key| Some(member(self.tree, node?, key)));
        let start = self.tree.span(node.flatten().unwrap_or(self.template.node)).start;
        let pointer = format!("{}/spec/resources/{pods_list}/{}", self.at, escape(name));
        Finding::new(Reason::PodResources, message, start, &pointer).with_help(help)
    }
}

fn amount<'v>(resources: &'v Value, list: &str, name: &str) -> Option<&'v str> {
    resources[list][name].as_str()
}
