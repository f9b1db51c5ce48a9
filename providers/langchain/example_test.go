package langchain_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/langchain"
)

// Two models of different vendors, of which the second answers when the first is
// rate limited.
func ExampleOpen() {
	busy := httptest.NewServer(reply(429, vendors[0].failure(429, limited, "slow down"))) // instead of OpenAI
	defer busy.Close()
	free := httptest.NewServer(reply(200, anthropic.body(hello))) // instead of Anthropic
	defer free.Close()

	open := langchain.Open(langchain.Keys{"openai": "your-key", "anthropic": "your-other-key"})
	roles, err := providers.NewRoles(providers.RoleConfig{"writer": {
		{Provider: "openai", Model: "gpt-5", BaseURL: busy.URL + "/v1"},
		{Provider: "anthropic", Model: "claude-sonnet-5-5", BaseURL: free.URL + "/v1"},
	}}, open)
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
		Messages: []providers.Message{{Role: providers.User, Text: "hi"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(resp.Model, resp.Stop, resp.Text)
	// Output: anthropic:claude-sonnet-5-5 end hello
}

// A gateway of one's own that speaks OpenAI's chat completions has any name.
func ExampleOpener_Open() {
	gateway := httptest.NewServer(reply(200, vendors[0].body(hello)))
	defer gateway.Close()

	opener := langchain.Opener{Keys: langchain.Keys{"corp": "the-key-of-your-gateway"}, MaxBody: 1 << 20}
	model, err := opener.Open(providers.Spec{Provider: "corp", Model: "large", BaseURL: gateway.URL + "/v1", Timeout: "90s"})
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
	// Output: corp:large end hello
}
