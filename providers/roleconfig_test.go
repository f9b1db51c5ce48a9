package providers_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

// nameOf opens any model; its answers say which one it is.
func nameOf(s providers.Spec) (providers.Model, error) {
	m := fake.New(nil)
	m.When(fake.Rule{Answer: fake.Answer{Text: "ok", Model: s.String()}})
	return m, nil
}

// whoIs returns who answers for a role.
func whoIs(t *testing.T, c providers.RoleConfig, role string) string {
	t.Helper()
	roles, err := providers.NewRoles(c, nameOf)
	require.NoError(t, err)
	m, err := roles.Model(role)
	require.NoError(t, err)
	resp, err := m.Generate(t.Context(), hi)
	require.NoError(t, err)
	return resp.Model
}

func TestDefaults(t *testing.T) {
	t.Run("B105 providers", func(t *testing.T) {
		for _, provider := range []string{"anthropic", "openai", "google", "glm", "ollama", "azure", "bedrock"} {
			c := providers.RoleConfig{"director": {{Provider: provider, Model: "m"}}}
			assert.NoError(t, c.Validate(), provider)
		}
	})
	t.Run("B106 BC50 eight roles", func(t *testing.T) {
		sonnet := []providers.Spec{{Provider: "anthropic", Model: "claude-sonnet-5-5"}}
		haiku := []providers.Spec{{Provider: "anthropic", Model: "claude-haiku-5-5"}}
		assert.Equal(t, providers.RoleConfig{
			"director": sonnet, "strategist": sonnet, "guardian": haiku, "planner_worker": sonnet,
			"code_worker": sonnet, "test_worker": sonnet, "research_worker": sonnet, "writer_worker": sonnet,
		}, providers.Defaults())
	})
	t.Run("BC35 names and both at once", func(t *testing.T) {
		assert.Equal(t, "claude-sonnet-5-5", providers.DefaultSonnet)
		assert.Equal(t, "claude-haiku-5-5", providers.DefaultHaiku)
		c := providers.DefaultsOf(spec("openai:large"), spec("openai:small"))
		require.Len(t, c, 8)
		for role, models := range c {
			want := "openai:large"
			if role == "guardian" {
				want = "openai:small"
			}
			assert.Equal(t, []providers.Spec{spec(want)}, models, role)
		}
	})
	t.Run("BA116 defaults are valid", func(t *testing.T) {
		c := providers.Defaults()
		require.NoError(t, c.Validate())
		assert.Equal(t, "anthropic:claude-sonnet-5-5", whoIs(t, c, "director"))
		assert.Equal(t, "anthropic:claude-haiku-5-5", whoIs(t, c, "guardian"))
	})
	t.Run("defaults have a price", func(t *testing.T) {
		for role, models := range providers.Defaults() {
			_, known := models[0].KnownPrice()
			assert.True(t, known, role)
		}
	})
}

func TestRoleConfigWith(t *testing.T) {
	t.Run("B107 one role changes", func(t *testing.T) {
		before := providers.Defaults()
		after := before.With("director", spec("glm:glm-5"), spec("openai:gpt-4o"))
		assert.Equal(t, providers.Defaults(), before)
		assert.Equal(t, []providers.Spec{spec("glm:glm-5"), spec("openai:gpt-4o")}, after["director"])
		delete(before, "director")
		delete(after, "director")
		assert.Equal(t, before, after)
	})
	t.Run("BA110 BC50 three roles change", func(t *testing.T) {
		c := providers.Defaults().
			With("code_worker", spec("glm:glm-4-plus")).
			With("guardian", spec("openai:gpt-4o-mini")).
			With("research_worker", spec("openai:gpt-4o"))
		require.NoError(t, c.Validate())
		for role, want := range map[string]string{
			"director": "anthropic:claude-sonnet-5-5", "strategist": "anthropic:claude-sonnet-5-5",
			"guardian": "openai:gpt-4o-mini", "planner_worker": "anthropic:claude-sonnet-5-5",
			"code_worker": "glm:glm-4-plus", "test_worker": "anthropic:claude-sonnet-5-5",
			"research_worker": "openai:gpt-4o", "writer_worker": "anthropic:claude-sonnet-5-5",
		} {
			assert.Equal(t, want, whoIs(t, c, role), role)
		}
	})
	t.Run("a copy shares nothing", func(t *testing.T) {
		s := spec("p:m")
		s.Temperature, s.Price = new(0.5), &providers.Price{Input: 1}
		before := providers.RoleConfig{"a": {s}}
		after := before.With("b", s)
		*after["a"][0].Temperature, *after["b"][0].Temperature = 1, 1
		after["a"][0].Price.Input, after["b"][0].Price.Input = 2, 2
		after["a"][0].Model = "other"
		assert.InDelta(t, 0.5, *s.Temperature, 0)
		assert.Equal(t, providers.NanoUSD(1), s.Price.Input)
		assert.Equal(t, "m", before["a"][0].Model)
	})
	t.Run("of nothing", func(t *testing.T) {
		assert.Equal(t, providers.RoleConfig{"a": {spec("p:m")}}, providers.RoleConfig(nil).With("a", spec("p:m")))
	})
}

func TestRoleLookup(t *testing.T) {
	all := providers.RoleConfig{"director": {spec("p:d")}, "worker": {spec("p:w")}, "code_worker": {spec("p:c")}}
	noWorker := providers.RoleConfig{"director": {spec("p:d")}, "code_worker": {spec("p:c")}}
	tests := []struct {
		name   string
		config providers.RoleConfig
		role   string
		want   string
	}{
		{"BC34 exact", all, "code_worker", "p:c"},
		{"BC34 worker", all, "editor_worker", "p:w"},
		{"BC34 director for what is no worker", all, "strategist", "p:d"},
		{"BC34 director without worker", noWorker, "editor_worker", "p:d"},
		{"BC34 the worker entry by its name", all, "worker", "p:w"},
		{"BA114 editor_worker unset, worker entry", all, "editor_worker", "p:w"},
		{"BA114 editor_worker unset, else the director's", providers.Defaults(), "editor_worker", "anthropic:claude-sonnet-5-5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			assert.Equal(t, tt.want, whoIs(t, tt.config, tt.role))
		})
	}
}

func TestFallback(t *testing.T) {
	c := providers.RoleConfig{"director": {spec("anthropic:claude-sonnet-5-5"), spec("openai:gpt-4o")}}
	ask := func(t *testing.T, first, second providers.Model) (providers.Response, error) {
		t.Helper()
		roles, err := providers.NewRoles(c, opener{"anthropic:claude-sonnet-5-5": first, "openai:gpt-4o": second}.open)
		require.NoError(t, err)
		m, err := roles.Model("director")
		require.NoError(t, err)
		return m.Generate(t.Context(), hi)
	}
	ok := fake.Answer{Text: "ok", Model: "openai:gpt-4o"}
	t.Run("BA111 the first is limited", func(t *testing.T) {
		second := fake.New(t, ok)
		resp, err := ask(t, fake.New(t, limited(time.Minute)), second)
		require.NoError(t, err)
		assert.Equal(t, "openai:gpt-4o", resp.Model)
		assert.Len(t, second.Requests(), 1, "one fallback")
	})
	t.Run("BA112 both are limited", func(t *testing.T) {
		_, err := ask(t, fake.New(t, limited(time.Minute)), fake.New(t, limited(time.Minute)))
		require.ErrorIs(t, err, providers.RateLimited)
	})
	t.Run("BC36 all limited surfaces, with when to come back", func(t *testing.T) {
		_, err := ask(t, fake.New(t, limited(time.Minute)), fake.New(t, limited(30*time.Second)))
		var e *providers.Error
		require.ErrorAs(t, err, &e)
		assert.GreaterOrEqual(t, e.RetryAfter, 29*time.Second)
		assert.LessOrEqual(t, e.RetryAfter, 33*time.Second)
	})
	t.Run("BA113 the first fails otherwise", func(t *testing.T) {
		second := fake.New(t)
		_, err := ask(t, fake.New(t, fake.Answer{Err: &providers.Error{Kind: providers.Transient, Status: 500}}), second)
		require.ErrorIs(t, err, providers.Transient)
		assert.Empty(t, second.Requests())
	})
}

func TestRoleConfigValidate(t *testing.T) {
	again := spec("openai:gpt-4o")
	again.Temperature = new(0.0)
	elsewhere := spec("openai:gpt-4o")
	elsewhere.BaseURL = "https://eu.host/v1"
	tests := []struct {
		name   string
		config providers.RoleConfig
		own    []string
		want   []string // nil: it is valid
	}{
		{"BA114 self reference", providers.RoleConfig{"a": {spec("openai:gpt-4o"), again}}, nil, []string{
			`role "a", model 2 (openai:gpt-4o): it is model 1 again: a fallback must not lead back`,
		}},
		{"BA114 fallback cycle", providers.RoleConfig{"a": {spec("openai:gpt-4o"), spec("glm:glm-5"), again}}, nil, []string{
			`role "a", model 3 (openai:gpt-4o): it is model 1 again: a fallback must not lead back`,
		}},
		{"the same model of another service", providers.RoleConfig{"a": {spec("openai:gpt-4o"), elsewhere}}, nil, nil},
		{"the same model in two roles", providers.RoleConfig{"a": {again}, "b": {again}}, nil, nil},
		{"BA114 provider acme", providers.RoleConfig{"a": {spec("acme:m")}}, nil, []string{
			`role "a", model 1 (acme:m): unknown provider "acme", known: anthropic, openai, google, glm, ollama, azure, bedrock, deepseek, openrouter`,
		}},
		{"a provider of the host's own", providers.RoleConfig{"a": {spec("acme:m")}}, []string{"acme"}, nil},
		{"a server that is named", providers.RoleConfig{"a": {{Provider: "acme", Model: "m", BaseURL: "http://host/v1"}}}, nil, nil},
		{"nothing", nil, nil, []string{"no roles"}},
		{"all at once", providers.RoleConfig{"": {spec("openai:m")}, "b": {}, "c": {{Provider: "openai", MaxTokens: -1}}, "d": {spec("acme:m")}}, nil, []string{
			"a role has no name",
			`role "b" has no models`,
			`role "c", model 1 (openai:): model name is empty`,
			"maxTokens is -1, want 0 or more",
			`role "d", model 1 (acme:m): unknown provider "acme", known: anthropic, openai, google, glm, ollama, azure, bedrock, deepseek, openrouter`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.config.Validate(tt.own...)
			if tt.want == nil {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			assert.Equal(t, tt.want, strings.Split(err.Error(), "\n"))
			if strings.Contains(err.Error(), "acme") {
				require.ErrorIs(t, err, providers.ErrUnknownProvider)
			} else {
				require.NotErrorIs(t, err, providers.ErrUnknownProvider)
			}
		})
	}
}

// What Validate finds without an opener, NewRoles finds with one.
func TestNewRolesFindsCycles(t *testing.T) {
	_, err := providers.NewRoles(providers.RoleConfig{"a": {spec("p:m"), spec("p:m")}}, nameOf)
	require.EqualError(t, err, `providers: role "a", model 2 (p:m): it is model 1 again: a fallback must not lead back`)
}

func TestRoleConfigJSON(t *testing.T) {
	t.Run("back and forth", func(t *testing.T) {
		s := spec("azure:deployment")
		s.BaseURL, s.APIVersion, s.Temperature, s.MaxTokens, s.Timeout = "https://h", "2025-01-01", new(0.0), 9, "90s"
		s.Price = &providers.Price{Input: 3_750_000_000, Output: 15 * providers.USD, CacheRead: 1, Above: 200_000, Long: providers.Rates{Input: providers.USD, Output: 1, Reasoning: 7}}
		c := providers.Defaults().With("code_worker", s, spec("openai:gpt-4o"))
		data, err := json.Marshal(c)
		require.NoError(t, err)
		var back providers.RoleConfig
		require.NoError(t, json.Unmarshal(data, &back))
		assert.Equal(t, c, back)
	})
	t.Run("a model by its name", func(t *testing.T) {
		var c providers.RoleConfig
		require.NoError(t, json.Unmarshal([]byte(`{"director": ["anthropic:claude-sonnet-5-5", {"provider": "ollama", "model": "llama3:8b"}]}`), &c))
		assert.Equal(t, providers.RoleConfig{"director": {spec("anthropic:claude-sonnet-5-5"), spec("ollama:llama3:8b")}}, c)
	})
	faults := []struct{ name, text, want string }{
		{"unknown field", `{"a": ["p:m", {"provider": "p", "model": "n", "tempreature": 1}]}`, `role "a", model 2: json: unknown field "tempreature"`},
		{"unknown field of a price", `{"a": [{"provider": "p", "model": "m", "price": {"input": 1, "output": 2, "cacheHit": 1}}]}`, `role "a", model 1: price: json: unknown field "cacheHit"`},
		{"no colon", `{"a": ["gpt-4o"]}`, `role "a", model 1: providers: model "gpt-4o" has no colon`},
		{"no list", `{"a": "p:m"}`, "roles: json: cannot unmarshal string"},
		{"another type", `{"a": [7]}`, `role "a", model 1: json: cannot unmarshal number`},
		{"all at once", `{"a": [7], "b": ["x"]}`, `role "b", model 1`},
	}
	for _, tt := range faults {
		t.Run(tt.name, func(t *testing.T) {
			c := providers.RoleConfig{"kept": nil}
			err := json.Unmarshal([]byte(tt.text), &c)
			require.ErrorContains(t, err, tt.want)
			assert.Contains(t, c, "kept", "nothing is half read")
		})
	}
}

func FuzzRoleConfigJSON(f *testing.F) {
	f.Add([]byte(`{"a": ["p:m", {"provider": "p", "model": "n", "price": {"input": 1, "output": 2}}]}`))
	f.Add([]byte(`{"a": [null]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var c, back providers.RoleConfig
		if json.Unmarshal(data, &c) != nil || c.Validate("p") != nil {
			return
		}
		text, err := json.Marshal(c)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &back), string(text))
		again, err := json.Marshal(back)
		require.NoError(t, err)
		assert.Equal(t, string(text), string(again))
	})
}
