package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/anthropic"
	"github.com/convene-go/convene/providers/bedrock"
	"github.com/convene-go/convene/providers/openai"
)

// keyEnvs are the usual environment variables of keys, by provider. No other service
// gets these keys.
var keyEnvs = map[string]string{
	providers.Anthropic:  "ANTHROPIC_API_KEY",
	providers.Azure:      "AZURE_OPENAI_API_KEY",
	providers.DeepSeek:   "DEEPSEEK_API_KEY",
	providers.GLM:        "ZAI_API_KEY",
	providers.Google:     "GEMINI_API_KEY",
	providers.OpenAI:     "OPENAI_API_KEY",
	providers.OpenRouter: "OPENROUTER_API_KEY",
}

// The usual environment variables of AWS.
const (
	awsID      = "AWS_ACCESS_KEY_ID"
	awsSecret  = "AWS_SECRET_ACCESS_KEY"
	awsSession = "AWS_SESSION_TOKEN" // of temporary keys alone
	awsRegion  = "AWS_REGION"
)

// Open opens the model of s. It reads only the environment variables of that model's
// provider. A model that does not answer calls suspend with the reason.
func (s *Settings) Open(getenv func(string) string, suspend context.CancelCauseFunc) (providers.Model, error) {
	with := s.withKey
	if s.Model.Provider == providers.Bedrock {
		with = s.withAWS
	}
	open, err := with(getenv)
	if err != nil {
		return nil, Usage(s.Program, fmt.Errorf("-model %s needs %w", s.Model, err))
	}
	m, err := open(*s.Model)
	if err != nil {
		return nil, Usage(s.Program, fmt.Errorf("-model: %w", err))
	}
	return &outage{model: m, suspend: suspend}, nil
}

type opener func(providers.Spec) (providers.Model, error)

// withKey is for providers with one key or none.
func (s *Settings) withKey(getenv func(string) string) (opener, error) {
	keys := providers.Keys{}
	if env := cmp.Or(s.KeyEnv, keyEnvs[s.Model.Provider]); env != "" {
		key := getenv(env)
		if key == "" {
			return nil, fmt.Errorf("a key: the environment variable %s is empty, -key-env names another one", env)
		}
		keys[s.Model.Provider] = key
	}
	return providers.Openers{"": openai.Open(keys), providers.Anthropic: anthropic.Open(keys)}.Open, nil
}

// withAWS is for bedrock. Its error lists everything that is missing.
func (s *Settings) withAWS(getenv func(string) string) (opener, error) {
	if s.KeyEnv != "" {
		return nil, fmt.Errorf("more than the one key of -key-env: it takes %s, %s and, for temporary keys, %s", awsID, awsSecret, awsSession)
	}
	keys := bedrock.Keys{ID: getenv(awsID), Secret: getenv(awsSecret), Session: getenv(awsSession)}
	region := cmp.Or(s.Model.Region, getenv(awsRegion))
	var missing []string
	for _, v := range []struct{ name, value string }{
		{awsID, keys.ID}, {awsSecret, keys.Secret}, {awsRegion + " (or -region)", region},
	} {
		if v.value == "" {
			missing = append(missing, v.name)
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("what is empty in the environment: %s", strings.Join(missing, ", "))
	}
	return bedrock.Open(keys, region), nil
}
