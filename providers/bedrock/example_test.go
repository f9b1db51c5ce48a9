package bedrock_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/bedrock"
)

func ExampleOpen() {
	server := httptest.NewServer(reply(200, families["claude"].hello())) // instead of AWS
	defer server.Close()

	keys := bedrock.Keys{ID: "AKIA...", Secret: "the-secret-key"}
	open := providers.Openers{"bedrock": bedrock.Open(keys, "us-east-1")}.Open

	model, err := open(providers.Spec{Provider: "bedrock", Model: "anthropic.claude-sonnet-5", BaseURL: server.URL})
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := model.Generate(context.Background(), providers.Request{
		Messages: []providers.Message{{Role: providers.User, Text: "hi"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Model, resp.Stop, resp.Text)
	// Output: bedrock:anthropic.claude-sonnet-5 end hello
}
