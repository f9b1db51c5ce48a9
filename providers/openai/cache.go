package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"

	"github.com/convene-go/convene/providers"
)

// cached is the size in bytes of instructions and tools from which on requests get a
// cache key.
const cached = 2000

// cacheKey is the same for requests with the same beginning: OpenAI sends them to the same
// cache. "": it is not sent.
func (c *call) cacheKey() string {
	m := c.model
	if !m.vendor.openai || m.memory.Knows("prompt_cache_key") || !ownHost(m.vendor.baseURL) {
		return ""
	}
	sum, size := sha256.New(), 0
	add := func(text string) {
		size += len(text)
		_, _ = sum.Write([]byte(text))
		_, _ = sum.Write([]byte{0})
	}
	for _, t := range c.req.Tools {
		add(t.Name)
		add(t.Description)
		add(string(t.Input))
	}
	if len(c.req.Messages) > 0 && c.req.Messages[0].Role == providers.System {
		add(c.req.Messages[0].Text)
	}
	if size < cached {
		return ""
	}
	return "convene-" + hex.EncodeToString(sum.Sum(nil)[:12])
}

// ownHost says whether a URL is of OpenAI's own service, or Azure's.
func ownHost(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	host := u.Hostname()
	for _, own := range []string{"api.openai.com", "openai.azure.com", "services.ai.azure.com"} {
		if host == own || strings.HasSuffix(host, "."+own) {
			return true
		}
	}
	return false
}
