package openai_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/anthropic"
	"github.com/convene-go/convene/providers/openai"
)

// says answers with a stream, instead of a vendor.
func says(stream string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, stream)
	}))
}

const (
	hello = `data: {"choices":[{"delta":{"content":"hello"},"finish_reason":"stop"}]}

data: [DONE]

`
	helloOfClaude = `data: {"type":"content_block_delta","delta":{"text":"hello"}}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}

data: {"type":"message_stop"}

`
)

// Two models of different vendors, of which the second answers when the first is
// rate limited.
func ExampleOpen() {
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "slow down", http.StatusTooManyRequests)
	}))
	defer busy.Close()
	free := says(helloOfClaude)
	defer free.Close()

	keys := providers.Keys{"openai": "your-key", "anthropic": "your-other-key"}
	open := providers.Openers{"openai": openai.Open(keys), "anthropic": anthropic.Open(keys)}.Open
	roles, err := providers.NewRoles(providers.RoleConfig{"writer": {
		{Provider: "openai", Model: "gpt-4o", BaseURL: busy.URL + "/v1"},
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

// A custom gateway with OpenAI's chat completions may have any name.
func ExampleOpener_Open() {
	gateway := says(hello)
	defer gateway.Close()

	opener := openai.Opener{Keys: providers.Keys{"corp": "the-key-of-your-gateway"}, MaxBody: 1 << 20}
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
