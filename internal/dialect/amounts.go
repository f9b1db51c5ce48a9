package dialect

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/convene-go/convene/providers"
)

// none is orchestrator.None, which this package cannot import.
const none = -1

const noneText = "-1"

func durationText(d time.Duration) string {
	if d == none {
		return noneText
	}
	return strconv.Quote(d.String()) // no letter of it is escaped
}

// readDuration reads a text such as "5m", a number of seconds, or -1 for None.
func readDuration(data []byte) (time.Duration, error) {
	text := string(data)
	if text == noneText {
		return none, nil
	}
	if unquoted, ok := textOf(data); ok {
		text = unquoted
	} else {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, Faults{{What: fmt.Sprintf("is %.40s, want a duration such as \"5m\", or a number of seconds", data)}}
	}
	return d, nil
}

func moneyText(m providers.NanoUSD) string {
	if m == none {
		return noneText
	}
	if m == -providers.USD { // -1 USD must not read as None
		return "-1.0"
	}
	sign, whole, parts := "", uint64(m), uint64(providers.USD)
	if m < 0 {
		sign, whole = "-", -whole
	}
	text := fmt.Sprintf("%s%d.%09d", sign, whole/parts, whole%parts)
	return strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
}

// zeros are the decimals of money.
const zeros = "000000000"

// readMoney reads a decimal number of USD, exactly, or -1 for None.
func readMoney(data []byte) (providers.NanoUSD, error) {
	text := string(data)
	if text == noneText {
		return none, nil
	}
	whole, parts, _ := strings.Cut(text, ".")
	if len(parts) <= len(zeros) {
		if n, err := strconv.ParseInt(whole+parts+zeros[len(parts):], 10, 64); err == nil {
			return providers.NanoUSD(n), nil
		}
	}
	_, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	amount, ok := new(big.Rat), len(exponent) <= 4 // a longer one would fill the memory
	if ok {
		amount, ok = amount.SetString(text)
	}
	if ok {
		amount.Mul(amount, new(big.Rat).SetInt64(int64(providers.USD)))
	}
	if !ok || !amount.IsInt() || !amount.Num().IsInt64() {
		return 0, Faults{{What: fmt.Sprintf("is %.40s, want USD with at most 9 decimals", data)}}
	}
	return providers.NanoUSD(amount.Num().Int64()), nil
}
