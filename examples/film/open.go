package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/anthropic"
	"github.com/convene-go/convene/providers/bedrock"
	"github.com/convene-go/convene/providers/openai"
)

// keyEnvs are the variables in which people keep keys, by provider. No other service
// gets to see them.
var keyEnvs = map[string]string{
	providers.Anthropic:  "ANTHROPIC_API_KEY",
	providers.Azure:      "AZURE_OPENAI_API_KEY",
	providers.DeepSeek:   "DEEPSEEK_API_KEY",
	providers.GLM:        "ZAI_API_KEY",
	providers.Google:     "GEMINI_API_KEY",
	providers.OpenAI:     "OPENAI_API_KEY",
	providers.OpenRouter: "OPENROUTER_API_KEY",
}

// The variables in which people keep what AWS wants.
const (
	awsID      = "AWS_ACCESS_KEY_ID"
	awsSecret  = "AWS_SECRET_ACCESS_KEY"
	awsSession = "AWS_SESSION_TOKEN" // of temporary keys alone
	awsRegion  = "AWS_REGION"
)

// open opens models of one provider.
type open func(providers.Spec) (providers.Model, error)

// openModel opens the model of the command line. Of the environment it reads what
// that model's provider needs, and nothing else.
func openModel(o options, getenv func(string) string) (providers.Model, error) {
	with := withKey
	if o.model.Provider == providers.Bedrock {
		with = withAWS
	}
	open, err := with(o, getenv)
	if err != nil {
		return nil, bad(fmt.Errorf("-model %s needs %w", o.model, err))
	}
	m, err := open(*o.model)
	if err != nil {
		return nil, bad(fmt.Errorf("-model: %w", err))
	}
	return m, nil
}

// withKey is for providers with one key or none.
func withKey(o options, getenv func(string) string) (open, error) {
	env := o.keyEnv
	if env == "" {
		env = keyEnvs[o.model.Provider]
	}
	if env == "" {
		return openers(nil), nil
	}
	key := getenv(env)
	if key == "" {
		return nil, fmt.Errorf("a key: the environment variable %s is empty, -key-env names another one", env)
	}
	return openers(providers.Keys{o.model.Provider: key}), nil
}

func openers(keys providers.Keys) open {
	return providers.Openers{"": openai.Open(keys), providers.Anthropic: anthropic.Open(keys)}.Open
}

// withAWS is for bedrock. Its error names all that is missing.
func withAWS(o options, getenv func(string) string) (open, error) {
	if o.keyEnv != "" {
		return nil, fmt.Errorf("more than the one key of -key-env: it takes %s, %s and, for temporary keys, %s", awsID, awsSecret, awsSession)
	}
	keys := bedrock.Keys{ID: getenv(awsID), Secret: getenv(awsSecret), Session: getenv(awsSession)}
	region := cmp.Or(o.model.Region, getenv(awsRegion))
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
