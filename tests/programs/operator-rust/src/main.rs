//! An operator as people write them with kube-rs: it plants gardens as ConfigMaps and clears them again.
//!
//!     operator-rust NAMESPACE IDENTITY

use std::{env, error::Error as StdError, sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, CustomResource, Resource, ResourceExt,
    api::{Patch, PatchParams},
    runtime::{
        Controller,
        controller::Action,
        events::{Event, EventType, Recorder, Reporter},
        finalizer::{self, finalizer},
        watcher,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "clients.example.com", version = "v1", kind = "Garden", namespaced, status = "GardenStatus")]
struct GardenSpec {
    beds: i64,
}

#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
struct GardenStatus {
    beds: i64,
}

struct Gardener {
    client: Client,
    events: Recorder,
}

impl Gardener {
    async fn report(&self, garden: &Garden, reason: &str, note: String) -> Result<(), kube::Error> {
        let event = Event {
            type_: EventType::Normal,
            reason: reason.into(),
            note: Some(note),
            action: "Garden".into(),
            secondary: None,
        };
        self.events.publish(&event, &garden.object_ref(&())).await
    }

    async fn plant(&self, garden: &Garden) -> Result<Action, kube::Error> {
        let (name, namespace) = (garden.name_any(), garden.namespace().unwrap_or_default());
        let wanted = garden.spec.beds;
        let beds = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "ownerReferences": [garden.controller_owner_ref(&())]},
            "data": {"beds": wanted.to_string()},
        });
        let applied = PatchParams::apply("gardener").force();
        Api::<ConfigMap>::namespaced(self.client.clone(), &namespace)
            .patch(&name, &applied, &Patch::Apply(&beds))
            .await?;
        if garden.status.as_ref().is_some_and(|status| status.beds == wanted) {
            return Ok(Action::await_change());
        }
        Api::<Garden>::namespaced(self.client.clone(), &namespace)
            .patch_status(&name, &PatchParams::default(), &Patch::Merge(json!({"status": {"beds": wanted}})))
            .await?;
        self.report(garden, "Planted", format!("planted {wanted} beds")).await?;
        Ok(Action::await_change())
    }

    async fn clear(&self, garden: &Garden) -> Result<Action, kube::Error> {
        self.report(garden, "Cleared", "nothing grows here any more".into()).await?;
        Ok(Action::await_change())
    }
}

async fn reconcile(garden: Arc<Garden>, gardener: Arc<Gardener>) -> Result<Action, finalizer::Error<kube::Error>> {
    let gardens = Api::namespaced(gardener.client.clone(), &garden.namespace().unwrap_or_default());
    finalizer(&gardens, "clients.example.com/clear", garden, |event| async {
        match event {
            finalizer::Event::Apply(garden) => gardener.plant(&garden).await,
            finalizer::Event::Cleanup(garden) => gardener.clear(&garden).await,
        }
    })
    .await
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn StdError>> {
    let arguments: Vec<String> = env::args().collect();
    let [_, namespace, identity] = arguments.as_slice() else {
        return Err("usage: operator-rust NAMESPACE IDENTITY".into());
    };
    let client = Client::try_default().await?;
    let gardener = Gardener {
        client: client.clone(),
        events: Recorder::new(client.clone(), Reporter::from(identity.as_str())),
    };
    Controller::new(Api::<Garden>::namespaced(client.clone(), namespace), watcher::Config::default())
        .owns(Api::<ConfigMap>::namespaced(client, namespace), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(200)), Arc::new(gardener))
        .for_each(|done| async move {
            if let Err(error) = done {
                eprintln!("{error}");
            }
        })
        .await;
    Ok(())
}
