package mcp_test

import (
	"context"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers/fake"
	"github.com/convene-go/convene/providers/mcp"
)

// A program opens mcp.Command{Args: …} or mcp.HTTP{URL: …}; here the server is in
// this process.
func ExampleOpen() {
	type city struct {
		Name string `json:"name"`
	}
	acme := sdk.NewServer(&sdk.Implementation{Name: "acme", Version: "1"}, nil)
	sdk.AddTool(acme, &sdk.Tool{Name: "weather", Description: "tells the weather in a city"},
		func(_ context.Context, _ *sdk.CallToolRequest, in city) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "rain in " + in.Name}}}, nil, nil
		})
	dial := mcp.DialFunc(func(ctx context.Context) (sdk.Transport, error) {
		there, here := sdk.NewInMemoryTransports()
		_, err := acme.Connect(ctx, there, nil)
		return here, err
	})

	ctx := context.Background()
	server, err := mcp.Open(ctx, dial)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = server.Close() }()
	tools, err := server.Tools(ctx, mcp.Choice{Prefix: "acme_"})
	if err != nil {
		fmt.Println(err)
		return
	}
	guide := agent.LLM{
		Model: fake.New(nil, fake.Call("c1", "acme_weather", city{"Bergen"}), fake.Text("Take an umbrella.")),
		Tools: tools,
	}
	resp, err := guide.Call(ctx, agent.Request{Prompt: "What do I need in Bergen?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, said := range resp.Messages {
		fmt.Printf("%s: %d calls, %q\n", said.Role, len(said.ToolCalls), said.Text)
	}
	fmt.Println(resp.Text)
	// Output:
	// assistant: 1 calls, ""
	// tool: 0 calls, "rain in Bergen"
	// Take an umbrella.
}
