package bedrock

import "github.com/convene-go/convene/providers"

// usageOf returns the counts in our way: cached tokens are part of the input. If
// one is of those that nobody can have meant there are none, which makes the call
// one without a known cost.
func usageOf(input, output, read, write int64) providers.Usage {
	for _, tokens := range []int64{input, output, read, write} {
		if tokens < 0 || tokens > 1<<40 {
			return providers.Usage{}
		}
	}
	return providers.Usage{Input: input + read + write, Output: output, CacheRead: read, CacheWrite: write}
}
