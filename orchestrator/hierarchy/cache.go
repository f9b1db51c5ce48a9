package hierarchy

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Cached returns a for a roster, with its answers kept: the same request, that is
// prompt, temperature and everything else that is asked but its limits, is answered
// without another call and without usage (H94). At most entries answers are kept,
// the most recently used ones; fewer than 1 counts as 1. Errors and unfinished
// answers are not kept, and two equal requests at the same time are two calls.
//
// A retry of a failed attempt has another prompt, so that it is never answered with
// what did not pass. The returned agent is safe for concurrent use; agents do not
// share what they keep. This is also the place for batching: a decorator that holds
// calls back until several can be sent to the vendor together needs no part of the
// flow.
func Cached(a agent.Agent, entries int) agent.Agent {
	return &cache{agent: a, limit: max(entries, 1), order: list.New(), found: map[[sha256.Size]byte]*list.Element{}}
}

type cache struct {
	agent agent.Agent
	limit int

	mu    sync.Mutex // never held during a call
	order *list.List // of *cached, the most recently used first
	found map[[sha256.Size]byte]*list.Element
}

type cached struct {
	key  [sha256.Size]byte
	resp agent.Response
}

// Call implements agent.Agent.
func (k *cache) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	key, err := keyOf(req)
	if err != nil {
		return agent.Response{}, err
	}
	if resp, ok := k.get(key); ok {
		return resp, nil
	}
	resp, err := k.agent.Call(ctx, req)
	if err == nil && !resp.More {
		k.put(key, resp)
	}
	return resp, err
}

// keyOf is a hash of everything that is asked.
func keyOf(req agent.Request) ([sha256.Size]byte, error) {
	req.Limits = agent.Limits{MaxTokens: req.Limits.MaxTokens, ToolCalls: req.Limits.ToolCalls}
	data, err := json.Marshal(req)
	return sha256.Sum256(data), err
}

func (k *cache) get(key [sha256.Size]byte) (agent.Response, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	e, ok := k.found[key]
	if !ok {
		return agent.Response{}, false
	}
	k.order.MoveToFront(e)
	kept, ok := e.Value.(*cached)
	if !ok {
		return agent.Response{}, false
	}
	return copyOf(kept.resp), true
}

func (k *cache) put(key [sha256.Size]byte, resp agent.Response) {
	resp = copyOf(resp)
	resp.Usage = providers.Usage{}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.found[key]; ok {
		return
	}
	k.found[key] = k.order.PushFront(&cached{key, resp})
	for k.order.Len() > k.limit {
		if old, ok := k.order.Remove(k.order.Back()).(*cached); ok {
			delete(k.found, old.key)
		}
	}
}

// copyOf returns an answer whose slices are the caller's.
func copyOf(resp agent.Response) agent.Response {
	resp.Data = slices.Clone(resp.Data)
	resp.Messages = slices.Clone(resp.Messages)
	return resp
}
