//! `embedding`: how near the output is to the expected text in meaning, as the cosine of their
//! vectors. The call is a step; what is recorded of it is the cosine, not the vectors.

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windrow_jobfile::diagnostics::Problems;
use windrow_jobfile::environment::Environment;
use windrow_jobfile::job_file::Section;
use windrow_jobfile::template::Template;
use windrow_model::workload::Halt;
use windrow_model::{Failure, Json};

use super::judge::asking::{self, WithModel};
use super::{
    Calls, ComponentContext, Doc, Evaluation, Evaluator, Subject, check_threshold, quote, rendered, template, thaw,
};
use crate::definition::component::{self, Checked, Config, LoadContext};
use crate::target::{Embeddings, has_embeddings};

pub const DOC: Doc = Doc {
    passes: "is close to the expected text in meaning",
    value: "graded, threshold 0.8",
    text: r##"Cosine similarity of the embeddings of the output and of `expect` (*template*). Negative values count as 0. `model` names an
OpenAI-compatible target (`openai`, `azure`, `mistral`, `together` …) and its embedding model. A good `threshold` (default
0.8) depends on the model: inspect a few rows first. One call embeds both texts. An empty output has the value 0, and equal
texts have the value 1, without a call.

```yaml
- embedding:
    model: { openai: { model: text-embedding-3-small, base_url: "http://127.0.0.1:8099/v1" } }
    expect: "{{ capital }}"
    threshold: 0.7
```"##,
};

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EmbeddingConfig {
    /// Template of the text the output is compared with.
    pub expect: String,
    #[serde(default = "threshold")]
    pub threshold: f64,
}

fn threshold() -> f64 {
    0.8
}

impl Config for EmbeddingConfig {
    fn templates(&self) -> Vec<(&'static str, &str)> {
        vec![("expect", &self.expect)]
    }

    fn check(&self, _environment: &Environment) -> Vec<component::Issue> {
        check_threshold(self.threshold).into_iter().collect()
    }
}

pub fn read(section: &Section, also: &[&str], context: LoadContext<'_>, problems: &mut Problems) -> Option<Checked> {
    let checked = asking::read::<EmbeddingConfig>(section, also, context, problems)?;
    let kind = checked.config["model"]["kind"].as_str().unwrap_or_default();
    if !has_embeddings(kind) {
        let message = format!("`{}.model`: `{kind}` makes no embeddings in OpenAI's form", section.path);
        problems.add(section.span_of("model"), message, "use `openai`, with a `base_url` if it is another provider's");
    }
    Some(checked)
}

pub struct Embedding {
    embeddings: Embeddings,
    expect: Template,
    threshold: f64,
}

impl Embedding {
    pub fn build(config: Value, context: &ComponentContext) -> Result<Box<dyn Evaluator>, Failure> {
        let WithModel::<EmbeddingConfig> { model, own } = thaw(config)?;
        let embeddings = Embeddings::build(model, context)?;
        Ok(Box::new(Self { embeddings, expect: template(&own.expect)?, threshold: own.threshold }))
    }

    async fn similarity(&self, output: &str, expected: &str, calls: &Calls<'_>) -> Result<f64, Halt> {
        let texts = [output, expected];
        let request = self.embeddings.request(&texts);
        let parts = [&b"embeddings"[..], self.embeddings.identity.as_bytes(), request.as_str().as_bytes()];
        let key = calls.key(&parts);
        let call = async {
            let (vectors, used) = self.embeddings.call(&request, texts.len(), &key).await?;
            let similarity = cosine(&vectors[0], &vectors[1]);
            Ok((Json::of(&json!({ "similarity": similarity })), used))
        };
        let made = calls.make(&parts, request.clone(), Some(self.embeddings.demand(&request)), call).await?;
        Ok(made.value()["similarity"].as_f64().unwrap_or_default())
    }
}

#[async_trait]
impl Evaluator for Embedding {
    fn expected(&self, variables: &minijinja::Value) -> Result<Option<String>, String> {
        match rendered(&self.expect, variables)? {
            empty if empty.trim().is_empty() => Err("it is empty, and nothing is near that".to_owned()),
            expected => Ok(Some(expected)),
        }
    }

    async fn judge(&self, subject: Subject<'_>, calls: &Calls<'_>) -> Result<Evaluation, Halt> {
        let (output, expected) = (subject.output, subject.expected.unwrap_or_default());
        let value = match output {
            _ if output.trim().is_empty() => 0.0,
            _ if output == expected => 1.0,
            _ => self.similarity(output, expected, calls).await?.clamp(0.0, 1.0),
        };
        let relation = if value >= self.threshold { "reaches" } else { "is below" };
        let reason = format!("{value:.3} {relation} {} against {}", self.threshold, quote(expected));
        Ok(Evaluation::graded(value, self.threshold, reason))
    }
}

/// 0 where one of them has no direction.
fn cosine(one: &[f64], other: &[f64]) -> f64 {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let lengths = (dot(one, one) * dot(other, other)).sqrt();
    if lengths > 0.0 { dot(one, other) / lengths } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cosine_does_not_depend_on_length() {
        assert!((cosine(&[3.0, 4.0], &[6.0, 8.0]) - 1.0).abs() < 1e-12);
        assert!((cosine(&[1.0, 0.0], &[1.0, 1.0]) - 0.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(cosine(&[1.0, 0.0], &[-1.0, 0.0]), -1.0);
        assert_eq!(cosine(&[0.0, 0.0], &[1.0, 0.0]), 0.0);
    }
}
