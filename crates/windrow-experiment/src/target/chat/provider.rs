//! Providers of models: where each one is, which dialect it speaks, and where its key is kept.
//! A provider that uses a known dialect is one more line.

use super::dialect::{ANTHROPIC, Dialect, GEMINI, OLLAMA, OPENAI};

pub struct Provider {
    pub name: &'static str,
    pub dialect: &'static Dialect,
    /// Empty where every customer has their own.
    pub base_url: &'static str,
    /// Environment variable of the key; empty where none is needed.
    pub key_variable: &'static str,
    pub key_header: KeyHeader,
}

impl Provider {
    /// Its name in the semantic conventions of OpenTelemetry, where they have one.
    pub fn in_traces(&self) -> &'static str {
        match self.name {
            "gemini" => "gcp.gemini",
            "azure" => "azure.ai.openai",
            "mistral" => "mistral_ai",
            "xai" => "x_ai",
            own => own,
        }
    }
}

impl Provider {
    /// The URL that the paths of its API begin with. `base_url` is accepted as the provider's own SDK takes it, so with or
    /// without the version and what stands before it.
    pub fn endpoint(&self, base_url: &str) -> String {
        let base = base_url.trim_end_matches('/');
        let Ok(url) = base.parse::<reqwest::Url>() else { return base.to_owned() };
        let given: Vec<&str> = url.path().split('/').filter(|segment| !segment.is_empty()).collect();
        let last = given.last().copied().unwrap_or_default();
        match self.name {
            // Their SDKs add the version to any address.
            "anthropic" if last != "v1" => format!("{base}/v1"),
            "gemini" if !last.starts_with("v1") => format!("{base}/v1beta"),
            // Its SDK takes the host; `/v1` is its OpenAI-compatible form.
            "ollama" if matches!(last, "v1" | "api") => base[..base.len() - last.len() - 1].to_owned(),
            "anthropic" | "gemini" | "ollama" => base.to_owned(),
            _ => {
                let whole = if self.base_url.is_empty() { "https://azure/openai/v1" } else { self.base_url };
                let path: Vec<&str> = whole.split('/').skip(3).collect();
                let missing = path.strip_prefix(given.as_slice()).unwrap_or_default();
                missing.iter().fold(base.to_owned(), |url, segment| format!("{url}/{segment}"))
            }
        }
    }
}

pub enum KeyHeader {
    Bearer,
    Named(&'static str),
}

const fn compatible(name: &'static str, base_url: &'static str, key_variable: &'static str) -> Provider {
    Provider { name, dialect: &OPENAI, base_url, key_variable, key_header: KeyHeader::Bearer }
}

pub const PROVIDERS: &[Provider] = &[
    compatible("openai", "https://api.openai.com/v1", "OPENAI_API_KEY"),
    Provider {
        name: "anthropic",
        dialect: &ANTHROPIC,
        base_url: "https://api.anthropic.com/v1",
        key_variable: "ANTHROPIC_API_KEY",
        key_header: KeyHeader::Named("x-api-key"),
    },
    Provider {
        name: "gemini",
        dialect: &GEMINI,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        key_variable: "GEMINI_API_KEY",
        key_header: KeyHeader::Named("x-goog-api-key"),
    },
    Provider {
        name: "ollama",
        dialect: &OLLAMA,
        base_url: "http://127.0.0.1:11434",
        key_variable: "",
        key_header: KeyHeader::Bearer,
    },
    Provider {
        name: "azure",
        dialect: &OPENAI,
        base_url: "",
        key_variable: "AZURE_OPENAI_API_KEY",
        key_header: KeyHeader::Named("api-key"),
    },
    compatible("cerebras", "https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
    compatible("cohere", "https://api.cohere.ai/compatibility/v1", "COHERE_API_KEY"),
    compatible("dashscope", "https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY"),
    compatible("deepseek", "https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
    compatible("fireworks", "https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
    compatible("groq", "https://api.groq.com/openai/v1", "GROQ_API_KEY"),
    compatible("mistral", "https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
    compatible("moonshot", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY"),
    compatible("nvidia", "https://integrate.api.nvidia.com/v1", "NVIDIA_API_KEY"),
    compatible("openrouter", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
    compatible("perplexity", "https://api.perplexity.ai", "PERPLEXITY_API_KEY"),
    compatible("together", "https://api.together.xyz/v1", "TOGETHER_API_KEY"),
    compatible("xai", "https://api.x.ai/v1", "XAI_API_KEY"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(name: &str, base_url: &str) -> String {
        PROVIDERS.iter().find(|provider| provider.name == name).unwrap().endpoint(base_url)
    }

    /// The first of each is what the provider's own SDK documents, the others are what people write.
    #[test]
    fn a_base_url_is_accepted_as_the_sdk_of_its_provider_takes_it() {
        for (name, given, expected) in [
            ("openai", "https://api.openai.com/v1", "https://api.openai.com/v1"),
            ("openai", "https://api.openai.com", "https://api.openai.com/v1"),
            ("openai", "http://127.0.0.1:8000/", "http://127.0.0.1:8000/v1"),
            ("openai", "https://gateway.example.com/team/openai", "https://gateway.example.com/team/openai"),
            ("anthropic", "https://api.anthropic.com", "https://api.anthropic.com/v1"),
            ("anthropic", "https://api.anthropic.com/v1/", "https://api.anthropic.com/v1"),
            ("anthropic", "https://gateway.example.com/anthropic", "https://gateway.example.com/anthropic/v1"),
            ("gemini", "https://generativelanguage.googleapis.com", "https://generativelanguage.googleapis.com/v1beta"),
            ("gemini", "https://generativelanguage.googleapis.com/v1", "https://generativelanguage.googleapis.com/v1"),
            ("ollama", "http://127.0.0.1:11434", "http://127.0.0.1:11434"),
            ("ollama", "http://127.0.0.1:11434/v1", "http://127.0.0.1:11434"),
            ("ollama", "http://127.0.0.1:11434/api", "http://127.0.0.1:11434"),
            ("azure", "https://name.openai.azure.com", "https://name.openai.azure.com/openai/v1"),
            ("azure", "https://name.openai.azure.com/openai/v1", "https://name.openai.azure.com/openai/v1"),
            ("cerebras", "https://api.cerebras.ai", "https://api.cerebras.ai/v1"),
            ("cohere", "https://api.cohere.ai", "https://api.cohere.ai/compatibility/v1"),
            ("dashscope", "https://dashscope.aliyuncs.com", "https://dashscope.aliyuncs.com/compatible-mode/v1"),
            ("deepseek", "https://api.deepseek.com", "https://api.deepseek.com/v1"),
            ("fireworks", "https://api.fireworks.ai/inference", "https://api.fireworks.ai/inference/v1"),
            ("groq", "https://api.groq.com", "https://api.groq.com/openai/v1"),
            ("groq", "https://api.groq.com/openai", "https://api.groq.com/openai/v1"),
            ("mistral", "https://api.mistral.ai", "https://api.mistral.ai/v1"),
            ("moonshot", "https://api.moonshot.ai", "https://api.moonshot.ai/v1"),
            ("nvidia", "https://integrate.api.nvidia.com", "https://integrate.api.nvidia.com/v1"),
            ("openrouter", "https://openrouter.ai", "https://openrouter.ai/api/v1"),
            ("perplexity", "https://api.perplexity.ai", "https://api.perplexity.ai"),
            ("together", "https://api.together.xyz", "https://api.together.xyz/v1"),
            ("xai", "https://api.x.ai", "https://api.x.ai/v1"),
        ] {
            assert_eq!(endpoint(name, given), expected, "{name}: {given}");
        }
    }

    #[test]
    fn every_default_is_complete() {
        for provider in PROVIDERS.iter().filter(|provider| !provider.base_url.is_empty()) {
            assert_eq!(provider.endpoint(provider.base_url), provider.base_url, "{}", provider.name);
        }
    }
}
