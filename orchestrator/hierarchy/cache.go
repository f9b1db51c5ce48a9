package hierarchy

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// Cached returns a for a roster, with a cache: a request that is equal in prompt,
// temperature and everything else except its limits is answered without another call and
// without usage. It holds at most entries answers, the most recently used ones; fewer
// than 1 counts as 1. Errors and unfinished answers are not cached, and two equal
// requests at the same time are two calls.
//
// A retry of a failed attempt has another prompt, so it never gets the rejected answer
// again. The returned agent is safe for concurrent use; each has its own cache. Batching
// can be added the same way: a decorator that holds calls back until several can be sent
// to the vendor together needs no change of the flow.
func Cached(a agent.Agent, entries int) agent.Agent {
	return &cache{agent: a, limit: max(entries, 1)}
}

type cache struct {
	agent agent.Agent
	limit int

	mu   sync.Mutex // never held during a call
	kept []cached   // the most recently used last
}

type cached struct {
	key  [sha256.Size]byte
	resp agent.Response
}

// Call implements agent.Agent.
func (k *cache) Call(ctx context.Context, req agent.Request) (agent.Response, error) {
	asked := req
	asked.Task = ""
	asked.Limits = agent.Limits{MaxTokens: req.Limits.MaxTokens, ToolCalls: req.Limits.ToolCalls}
	data, err := json.Marshal(asked)
	if err != nil {
		return agent.Response{}, err
	}
	key := sha256.Sum256(data)
	if resp, ok := k.get(key); ok {
		return resp, nil
	}
	resp, err := k.agent.Call(ctx, req)
	if err == nil && !resp.More {
		k.put(key, team.Clone(resp))
	}
	return resp, err
}

func (k *cache) get(key [sha256.Size]byte) (agent.Response, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	i := slices.IndexFunc(k.kept, func(c cached) bool { return c.key == key })
	if i < 0 {
		return agent.Response{}, false
	}
	found := k.kept[i]
	k.kept = append(slices.Delete(k.kept, i, i+1), found)
	return team.Clone(found.resp), true
}

func (k *cache) put(key [sha256.Size]byte, resp agent.Response) {
	resp.Usage = providers.Usage{}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.kept = slices.DeleteFunc(k.kept, func(c cached) bool { return c.key == key }) // of an equal request at the same time
	k.kept = append(k.kept, cached{key, resp})
	k.kept = slices.Delete(k.kept, 0, max(0, len(k.kept)-k.limit))
}
