package providers

import "context"

type keyContext struct{}

// WithKey returns ctx for one call of a model. The key is the call's identity:
// the same when the call is made again after a crash, and no other call's, another
// attempt's or another turn's. agent.LLM sets it.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyContext{}, key)
}

// KeyFrom returns the key of the call that ctx belongs to; "": it has none. A
// gateway may pass it on so that a call that is made again is not charged twice;
// scripted and recorded models give the same answer again.
func KeyFrom(ctx context.Context) string {
	key, _ := ctx.Value(keyContext{}).(string)
	return key
}
