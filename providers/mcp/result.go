package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// textOf is a tool's result as a model reads it.
func textOf(res *sdk.CallToolResult) string {
	var parts []string
	said := false // the structured content, in words
	for _, c := range res.Content {
		part := partOf(c)
		if part == "" {
			continue
		}
		parts = append(parts, part)
		said = said || res.StructuredContent != nil && sameJSON(part, res.StructuredContent)
	}
	if res.StructuredContent != nil && !said {
		if data, err := json.Marshal(res.StructuredContent); err == nil {
			parts = append(parts, string(data))
		}
	}
	return strings.Join(parts, "\n")
}

// partOf is one part of a result; "": there is nothing to read.
func partOf(c sdk.Content) string {
	switch c := c.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
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

// sameJSON tells whether text is the JSON of v, which came as JSON itself.
func sameJSON(text string, v any) bool {
	var got any
	return json.Unmarshal([]byte(text), &got) == nil && reflect.DeepEqual(got, v)
}
