package mcp

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/convene-go/convene/providers"
)

// maxResources bounds a list of resources.
const maxResources = 10_000

// Resources returns the server's resources, as context that a host selects from: models
// do not see them by themselves. More than 10,000 are an error.
func (s *Server) Resources(ctx context.Context) ([]*sdk.Resource, error) {
	l, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	defer l.cutIfStuck(ctx)()
	var out []*sdk.Resource
	cursor := ""
	for range maxResources { // a page may be empty
		page, err := l.session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
		if err != nil {
			return nil, s.failure(ctx, l, "list resources", err)
		}
		out = append(out, page.Resources...)
		if len(out) > maxResources {
			break
		}
		if cursor = page.NextCursor; cursor == "" {
			return out, nil
		}
	}
	return nil, fmt.Errorf("mcp: list resources: the list has more than %d resources or pages", maxResources)
}

// Read returns the content of a resource of the server, as parts of a message: texts,
// under their addresses, images and PDF documents. Content that models cannot read is a
// text that says so.
func (s *Server) Read(ctx context.Context, uri string) ([]providers.Part, error) {
	l, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	defer l.cutIfStuck(ctx)()
	res, err := l.session.ReadResource(ctx, &sdk.ReadResourceParams{URI: uri})
	if err != nil {
		return nil, s.failure(ctx, l, fmt.Sprintf("read resource %q", uri), err)
	}
	var out []providers.Part
	for _, r := range res.Contents {
		out = append(out, partOfResource(r))
	}
	return out, nil
}

// partOfResource is a resource as a part of a message.
func partOfResource(r *sdk.ResourceContents) providers.Part {
	part := providers.Part{Kind: providers.ImagePart, Media: r.MIMEType, Data: r.Blob}
	if r.MIMEType == "application/pdf" {
		part.Kind, part.Name = providers.DocumentPart, r.URI[strings.LastIndexByte(r.URI, '/')+1:]
	}
	message := []providers.Message{{Role: providers.User, Parts: []providers.Part{part}}}
	if len(r.Blob) > 0 && providers.CheckParts(message) == nil {
		return part
	}
	return providers.Part{Kind: providers.TextPart, Text: resourceOf(r)}
}
