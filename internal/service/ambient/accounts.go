package ambient

import (
	"cmp"
	"fmt"

	"github.com/regwarden/regwarden/internal/lazyregexp"
)

var awsAccount = lazyregexp.New(`^(?:(aws|aws-us-gov):)?([0-9]{12})$`)

// ParseAWSAccounts reads the setting aws-account: accounts by partition.
func ParseAWSAccounts(entries []string) (map[string]string, error) {
	accounts := map[string]string{}
	for _, entry := range entries {
		parts := awsAccount.Get().FindStringSubmatch(entry)
		if parts == nil {
			return nil, fmt.Errorf("aws-account: %q must be an account such as 123456789012 or aws-us-gov:123456789012", entry)
		}
		accounts[cmp.Or(parts[1], "aws")] = parts[2]
	}
	return accounts, nil
}

// Accounts returns the accounts of entries that are valid.
func Accounts(entries []string) map[string]string {
	accounts, _ := ParseAWSAccounts(entries) // none if an entry is not valid
	return accounts
}
