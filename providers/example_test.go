package providers_test

import (
	"context"
	"fmt"
	"time"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
)

func ExampleNewRoles() {
	config := providers.RoleConfig{
		"writer": {{Provider: "openai", Model: "gpt-4o"}, {Provider: "ollama", Model: "llama3:8b"}},
	}
	models := map[string]providers.Model{ // a program uses an opener, as langchain.Open(keys)
		"openai:gpt-4o":    fake.New(nil, fake.Fail(providers.RateLimited, time.Minute)),
		"ollama:llama3:8b": fake.New(nil, fake.Answer{Text: "Once upon a time", Model: "ollama:llama3:8b"}),
	}
	roles, err := providers.NewRoles(config, func(s providers.Spec) (providers.Model, error) {
		return models[s.String()], nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	writer, err := roles.Model("writer")
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := writer.Generate(context.Background(), providers.Request{
		Messages: []providers.Message{{Role: providers.User, Text: "Tell a story."}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %s\n", resp.Model, resp.Text)
	fmt.Println("calls without a price:", resp.Usage.Unpriced)
	// Output:
	// ollama:llama3:8b: Once upon a time
	// calls without a price: 1
}
