package providers

import "context"

type keyContext struct{}

// WithKey returns ctx for one call of a model. The key identifies the call: the same
// call after a crash has the same key, other calls, attempts and turns have others.
// agent.LLM sets it.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyContext{}, key)
}

// KeyFrom returns the key of the call of ctx; "": it has none. A gateway may pass it on
// so that a repeated call is not charged twice; scripted and recorded models repeat
// their answer.
func KeyFrom(ctx context.Context) string {
	key, _ := ctx.Value(keyContext{}).(string)
	return key
}
