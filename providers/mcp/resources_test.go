package mcp_test

import (
	"context"
	"testing"
	"testing/synctest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
)

func TestResources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(&sdk.ServerOptions{PageSize: 2})
		contents := map[string]*sdk.ResourceContents{
			"file:///a.txt": {URI: "file:///a.txt", MIMEType: "text/plain", Text: "hello"},
			"file:///b.png": {URI: "file:///b.png", MIMEType: "image/png", Blob: []byte("png")},
			"file:///c.pdf": {URI: "file:///c.pdf", MIMEType: "application/pdf", Blob: []byte("pdf")},
			"file:///d.zip": {URI: "file:///d.zip", MIMEType: "application/zip", Blob: []byte("zip")},
		}
		for uri, c := range contents {
			h.AddResource(&sdk.Resource{URI: uri, Name: uri}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
			})
		}
		s := open(t, h)
		list, err := s.Resources(t.Context())
		require.NoError(t, err)
		assert.Len(t, list, 4, "of all pages")
		for uri, want := range map[string]providers.Part{
			"file:///a.txt": {Kind: providers.TextPart, Text: "[resource file:///a.txt]\nhello"},
			"file:///b.png": {Kind: providers.ImagePart, Media: "image/png", Data: []byte("png")},
			"file:///c.pdf": {Kind: providers.DocumentPart, Media: "application/pdf", Name: "c.pdf", Data: []byte("pdf")},
			"file:///d.zip": {Kind: providers.TextPart, Text: "[resource file:///d.zip, application/zip, 3 bytes: not shown]"},
		} {
			parts, err := s.Read(t.Context(), uri)
			require.NoError(t, err)
			assert.Equal(t, []providers.Part{want}, parts)
		}
		_, err = s.Read(t.Context(), "file:///none")
		require.ErrorContains(t, err, `mcp: read resource "file:///none"`)
	})
}
