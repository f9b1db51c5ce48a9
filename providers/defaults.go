package providers

// The providers that this project has openers for. A host may have others.
const (
	Anthropic  = "anthropic"
	OpenAI     = "openai"
	Google     = "google"
	GLM        = "glm"
	Ollama     = "ollama"
	Azure      = "azure"
	Bedrock    = "bedrock"
	DeepSeek   = "deepseek"
	OpenRouter = "openrouter"
)

func vendors() []string {
	return []string{Anthropic, OpenAI, Google, GLM, Ollama, Azure, Bedrock, DeepSeek, OpenRouter}
}

// The models of [Defaults], both of [Anthropic].
const (
	DefaultSonnet = "claude-sonnet-5-5"
	DefaultHaiku  = "claude-haiku-5-5"
)

// Defaults returns the models of the director's team: [DefaultSonnet] for all of its roles
// except the guardian, whose model is [DefaultHaiku]. They have no fallback.
func Defaults() RoleConfig {
	return DefaultsOf(Spec{Provider: Anthropic, Model: DefaultSonnet}, Spec{Provider: Anthropic, Model: DefaultHaiku})
}

// DefaultsOf returns [Defaults] with two other models.
func DefaultsOf(large, guardian Spec) RoleConfig {
	c := RoleConfig{"guardian": {guardian.clone()}}
	for _, role := range []string{
		director, "strategist", "planner_worker", "code_worker", "test_worker", "research_worker", "writer_worker",
	} {
		c[role] = []Spec{large.clone()}
	}
	return c
}
