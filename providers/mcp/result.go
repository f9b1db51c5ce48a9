package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// textOf is a tool's result as a model reads it: its content, or the structured content,
// because usually both say the same. Structured content that says much more replaces
// content that is only a summary of it. Images are shown, if the caller uses agent.Show.
func textOf(ctx context.Context, res *sdk.CallToolResult) string {
	const more = 64          // bytes around a value in JSON
	var all, others []string // all parts, and those that are no text
	words := 0               // bytes of text
	for _, c := range res.Content {
		part := partOf(ctx, c)
		if part == "" {
			continue
		}
		all = append(all, part)
		if _, isText := c.(*sdk.TextContent); isText {
			words += len(part)
		} else {
			others = append(others, part)
		}
	}
	if res.StructuredContent != nil {
		data, err := json.Marshal(res.StructuredContent)
		if err == nil && (words == 0 || len(data) > 2*words+more) {
			all = append([]string{string(data)}, others...)
		}
	}
	return strings.Join(all, "\n")
}

// partOf is one part of a result; "": there is nothing to read.
func partOf(ctx context.Context, c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		part := providers.Part{Kind: providers.ImagePart, Media: c.MIMEType, Data: c.Data}
		if agent.Show(ctx, part) == nil {
			return fmt.Sprintf("[image, %s: shown]", c.MIMEType)
		}
		return note("image", c.MIMEType, len(c.Data))
	case *sdk.AudioContent:
		return note("sound", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return linkOf(c)
	case *sdk.EmbeddedResource:
		return resourceOf(c.Resource)
	}
	return fmt.Sprintf("[something that cannot be shown: %T]", c)
}

func note(what, mime string, size int) string {
	return fmt.Sprintf("[%s, %s, %d bytes: not shown]", what, mime, size)
}

func linkOf(l *sdk.ResourceLink) string {
	parts := []string{l.URI}
	for _, more := range []string{l.Name, l.MIMEType, l.Description} {
		if more != "" {
			parts = append(parts, more)
		}
	}
	return "[link to a resource: " + strings.Join(parts, ", ") + "]"
}

func resourceOf(r *sdk.ResourceContents) string {
	switch {
	case r == nil:
		return ""
	case r.Blob != nil:
		return note("resource "+r.URI, r.MIMEType, len(r.Blob))
	}
	return "[resource " + r.URI + "]\n" + r.Text
}
