package providers

import "context"

type originContext struct{}

// Origin says which call of a flow a request to a model serves, for scripted models, logs
// and gateways. Models do not get it.
type Origin struct {
	Key     string // key of the request, see WithKey; "": none
	Agent   string // name of the agent that asks; "": it is not called by a flow
	Op      string // operation that the agent is asked for; "": it has one
	Task    string // task or step that the call is for; "": none
	Attempt int    // attempt of the call, from 1; 0: it is not called by a flow
}

// WithOrigin returns ctx for one call of a model. agent.LLM sets it.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originContext{}, &o)
}

// OriginFrom returns the origin of the call of ctx; the zero Origin: it has none.
func OriginFrom(ctx context.Context) Origin {
	if o, ok := ctx.Value(originContext{}).(*Origin); ok {
		return *o
	}
	return Origin{}
}

// WithKey returns ctx for one call of a model. The key identifies the call: the same
// call after a crash has the same key, other calls, attempts and turns have others.
// agent.LLM sets it. The rest of the Origin of ctx stays.
func WithKey(ctx context.Context, key string) context.Context {
	o := OriginFrom(ctx)
	o.Key = key
	return WithOrigin(ctx, o)
}

// KeyFrom returns the key of the call of ctx; "": it has none. A gateway may pass it on
// so that a repeated call is not charged twice; scripted and recorded models repeat
// their answer.
func KeyFrom(ctx context.Context) string { return OriginFrom(ctx).Key }
