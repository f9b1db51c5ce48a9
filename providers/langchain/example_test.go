package langchain_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/langchain"
)

func ExampleOpen() {
	server := httptest.NewServer(reply(200, hello)) // instead of a vendor
	defer server.Close()

	open := langchain.Open(langchain.Keys{"corp": "the-key-of-your-gateway"})
	model, err := open(providers.Spec{Provider: "corp", Model: "large", BaseURL: server.URL + "/v1"})
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
