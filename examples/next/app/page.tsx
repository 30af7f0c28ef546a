import { redirect } from 'next/navigation'
import { isRefusal } from 'portico-client'
import { signOut } from '../lib/actions'
import { getClient } from '../lib/portico'

/** Runs on the server, for one user. */
async function readAccount() {
  const client = await getClient()
  if (!client) return null
  try {
    const [profile, wallets] = await Promise.all([client.readProfile(), client.listWallets()])
    return { email: profile.accountEmail, wallets }
  } catch (error) {
    // The session has ended elsewhere.
    if (isRefusal(error) && error.status === 401) return null
    throw error
  }
}

export default async function Page() {
  const account = await readAccount()
  if (!account) redirect('/sign-in')
  return (
    <main>
      <h1>{account.email}</h1>
      <ul>
        {account.wallets.map(({ bizId, walletName, currency }) => (
          <li key={bizId}>
            {walletName} ({currency})
          </li>
        ))}
      </ul>
      <form action={signOut}>
        <button>Sign out</button>
      </form>
    </main>
  )
}
