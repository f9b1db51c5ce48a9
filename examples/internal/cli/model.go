package cli

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/anthropic"
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

// Open opens the model of s. One that does not answer calls suspend with the reason.
func (s *Settings) Open(getenv func(string) string, suspend context.CancelCauseFunc) (providers.Model, error) {
	keys := providers.Keys{}
	env := s.KeyEnv
	if env == "" {
		env = keyEnvs[s.Model.Provider]
	}
	if env != "" {
		key := getenv(env)
		if key == "" {
			return nil, Usage(s.Program, fmt.Errorf("-model %s needs a key: the environment variable %s is empty, -key-env names another one", s.Model, env))
		}
		keys[s.Model.Provider] = key
	}
	m, err := providers.Openers{"": openai.Open(keys), providers.Anthropic: anthropic.Open(keys)}.Open(*s.Model)
	if err != nil {
		return nil, Usage(s.Program, fmt.Errorf("-model: %w", err))
	}
	return &outage{model: m, suspend: suspend}, nil
}

// Who names who answers: it is part of the ID of a run.
func (s *Settings) Who() string {
	switch {
	case s.Model == nil:
		return "rehearsal"
	case s.Model.BaseURL != "":
		return s.Model.String() + " at " + s.Model.BaseURL
	default:
		return s.Model.String()
	}
}

// patience is how many calls in a row may fail, over all agents, before the run is
// suspended.
const patience = 20

var errOutage = errors.New("the model does not answer")

// outage is a model that suspends the run when only a person can help: a key is
// refused, or the service has not answered for a while. What failed last is no answer
// in the log then, so that no agent's attempts are used up by it.
type outage struct {
	model   providers.Model
	suspend context.CancelCauseFunc
	failed  atomic.Int64 // calls in a row
}

// Generate implements providers.Model.
func (m *outage) Generate(ctx context.Context, req providers.Request) (providers.Response, error) {
	resp, err := m.model.Generate(ctx, req)
	if err == nil {
		m.failed.Store(0)
		return resp, nil
	}
	var e *providers.Error
	refused := errors.As(err, &e) && e.Kind == providers.Permanent
	if ctx.Err() != nil || !refused && m.failed.Add(1) < patience {
		return resp, err
	}
	m.suspend(fmt.Errorf("%w: %w", errOutage, err))
	<-ctx.Done()
	return resp, ctx.Err()
}

// Priced implements providers.Priced.
func (m *outage) Priced() bool {
	p, ok := m.model.(providers.Priced)
	return ok && p.Priced()
}
