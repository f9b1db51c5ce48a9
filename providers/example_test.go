package providers_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

// script opens scripted models. A program uses an opener, as openai.Open(keys).
func script(s providers.Spec) (providers.Model, error) {
	m := fake.New(nil)
	if s.Provider == "anthropic" {
		m.When(fake.Rule{Answer: fake.Fail(providers.RateLimited, time.Minute)})
	}
	m.When(fake.Rule{Answer: fake.Answer{
		Text: "Once upon a time", Model: s.String(), Usage: providers.Usage{Input: 12_000, Output: 2_000},
	}})
	return m, nil
}

var story = providers.Request{Messages: []providers.Message{{Role: providers.User, Text: "Tell a story."}}}

// Each role has a model and fallbacks for when it is rate limited.
func ExampleNewRoles() {
	roles, err := providers.NewRoles(providers.RoleConfig{
		"writer": {{Provider: "anthropic", Model: "claude-sonnet-5-5"}, {Provider: "openai", Model: "gpt-4o"}},
	}, script)
	if err != nil {
		fmt.Println(err)
		return
	}
	writer, err := roles.Model("writer")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := writer.Generate(context.Background(), story)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %s\n", resp.Model, resp.Text)
	fmt.Printf("%.3f USD\n", float64(resp.Usage.Cost)/float64(providers.USD))
	// Output:
	// openai:gpt-4o: Once upon a time
	// 0.050 USD
}

// One role of the director's team gets other models, the rest keep theirs.
func ExampleRoleConfig_With() {
	config := providers.Defaults().With("code_worker",
		providers.Spec{Provider: "glm", Model: "glm-5"},
		providers.Spec{Provider: "openai", Model: "gpt-4o"},
	)
	fmt.Println("code_worker:", config["code_worker"])
	fmt.Println("guardian:", config["guardian"])
	fmt.Println("valid:", config.Validate() == nil)
	// Output:
	// code_worker: [glm:glm-5 openai:gpt-4o]
	// guardian: [anthropic:claude-haiku-5-5]
	// valid: true
}

// A host keeps its models, limits and prices in one file.
func ExampleConfig_Open() {
	const file = `{
		"roles":  {"director": ["corp:large", "openai:gpt-4o"], "worker": ["corp:small"]},
		"limits": {"corp": {"parallel": 8, "perMinute": 600}},
		"prices": {"corp:large": {"input": 3, "output": 15}, "corp:small": {"input": 0.2, "output": 1}}
	}`
	var config providers.Config
	if err := json.Unmarshal([]byte(file), &config); err != nil {
		fmt.Println(err)
		return
	}
	roles, err := config.Open(script)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, role := range []string{"director", "code_worker"} {
		m, err := roles.Model(role)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp, err := m.Generate(context.Background(), story)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s: %s, %.4f USD\n", role, resp.Model, float64(resp.Usage.Cost)/float64(providers.USD))
	}
	// Output:
	// director: corp:large, 0.0660 USD
	// code_worker: corp:small, 0.0044 USD
}

// An unknown price makes a cost unknown, not 0.
func ExampleSpec_KnownPrice() {
	for _, name := range []string{"anthropic:claude-haiku-5-5", "ollama:llama3:8b"} {
		spec, err := providers.ParseSpec(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		if price, known := spec.KnownPrice(); known {
			cost := price.Cost(providers.Usage{Input: 50_000, Output: 1_000})
			fmt.Printf("%s: %.4f USD\n", spec, float64(cost)/float64(providers.USD))
		} else {
			fmt.Printf("%s: unknown\n", spec)
		}
	}
	// Output:
	// anthropic:claude-haiku-5-5: 0.0055 USD
	// ollama:llama3:8b: unknown
}

// Models that are used without an engine are asked again here.
func ExampleRetry() {
	busy := fake.New(nil, fake.Fail(providers.RateLimited, time.Hour))
	model := providers.Retry{Model: busy, Attempts: 3, Total: time.Minute}
	_, err := model.Generate(context.Background(), story)
	fmt.Println(errors.Is(err, providers.RateLimited), err)
	// Output:
	// true fake:model: rate-limited (HTTP 429): scripted failure
}
