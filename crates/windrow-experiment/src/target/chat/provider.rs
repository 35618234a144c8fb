//! Providers of models: where each one is, which dialect it speaks, and where its key is kept.
//! Whoever speaks a dialect that is here is one line more.

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
