package langchain_test

import (
	"context"
	"fmt"

	"github.com/tmc/langchaingo/llms"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/fake"
	"github.com/convene-go/convene/providers/langchain"
)

// mistral represents a client of langchaingo's.
type mistral struct{ llms.Model }

func (mistral) GenerateContent(context.Context, []llms.MessageContent, ...llms.CallOption) (*llms.ContentResponse, error) {
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{
		Content: "Bonjour.", StopReason: "stop", GenerationInfo: map[string]any{"PromptTokens": 5, "CompletionTokens": 3},
	}}}, nil
}

// A model of langchaingo gets a name and a price, and is a model like others.
func ExampleModel() {
	model := providers.Metered{
		Model: langchain.Model(mistral{}, "the-key-that-no-error-may-hold"),
		Spec:  providers.Spec{Provider: "mistral", Model: "large", Price: &providers.Price{Input: 2 * providers.USD, Output: 6 * providers.USD}},
	}
	resp, err := model.Generate(context.Background(), providers.Request{
		Messages: []providers.Message{{Role: providers.User, Text: "Say hello."}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Model, resp.Stop, resp.Text, resp.Usage.Cost, "nano-USD")
	// Output: mistral:large end Bonjour. 28000 nano-USD
}

// Code for langchaingo gets a model with its chain, prices or cassette.
func ExampleLLM() {
	model := fake.New(nil, fake.Answer{Text: "hello"}) // or one of providers.Roles
	text, err := llms.GenerateFromSinglePrompt(context.Background(), langchain.LLM(model), "Say hello.")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(text)
	// Output: hello
}
