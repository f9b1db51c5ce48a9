package agent

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"

	"github.com/convene-go/convene/providers"
)

// Cached returns a with a cache: a request that is equal to an earlier one but for its Task
// and times is answered without another call and without usage. It holds at most entries
// answers, the most recently used ones; fewer than 1 counts as 1. Errors and unfinished
// answers are not cached, and two equal requests at the same time are two calls.
//
// A retry of a failed attempt has another prompt, so it never gets the rejected answer
// again. The returned agent is safe for concurrent use; each has its own cache. Batching
// can be added the same way: a decorator that holds calls back until several can be sent
// to the vendor together needs no change of the flow.
func Cached(a Agent, entries int) Agent { //nolint:iface // its type has nothing else to offer
	return &cache{agent: a, limit: max(entries, 1)}
}

type cache struct {
	agent Agent
	limit int

	mu   sync.Mutex // never held during a call
	kept []cached   // the most recently used last
}

type cached struct {
	key  [sha256.Size]byte
	resp []byte // the Response as JSON, so that callers share nothing
}

// Call implements Agent.
func (k *cache) Call(ctx context.Context, req Request) (Response, error) {
	asked := req
	asked.Task = ""
	asked.Limits = Limits{MaxTokens: req.Limits.MaxTokens, ToolCalls: req.Limits.ToolCalls}
	data, err := json.Marshal(asked)
	if err != nil {
		return Response{}, err
	}
	key := sha256.Sum256(data)
	var resp Response
	if kept := k.get(key); kept != nil {
		return resp, json.Unmarshal(kept, &resp)
	}
	resp, err = k.agent.Call(ctx, req)
	if err == nil && !resp.More {
		k.put(key, resp)
	}
	return resp, err
}

// get returns a kept answer; nil: there is none.
func (k *cache) get(key [sha256.Size]byte) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.kept, func(c cached) bool { return c.key == key })
	if i < 0 {
		return nil
	}
	found := k.kept[i]
	k.kept = append(slices.Delete(k.kept, i, i+1), found)
	return found.resp
}

func (k *cache) put(key [sha256.Size]byte, resp Response) {
	resp.Usage = providers.Usage{}
	data, err := json.Marshal(resp)
	if err != nil {
		return // it is no answer that can be kept
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = slices.DeleteFunc(k.kept, func(c cached) bool { return c.key == key }) // an equal request may have been answered meanwhile
	k.kept = append(k.kept, cached{key, data})
	k.kept = slices.Delete(k.kept, 0, max(0, len(k.kept)-k.limit))
}
