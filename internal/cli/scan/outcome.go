package scan

import "github.com/regwarden/regwarden/definitions/model"

// NotChecked returns how many complete definitions have no report because their check failed.
func NotChecked(result model.Result) (n int) {
	for _, r := range result.Registries {
		if r.NotChecked != "" {
			n++
		}
	}
	return n
}
