import type { SessionState } from 'portico-client'
import { useEffect, useState } from 'react'
import { askForCode, type CodePrompt, client, onCodePrompt } from './client.ts'
import { CodeDialog, Form } from './form.tsx'
import { Wallets } from './wallets.tsx'

export function App() {
  const [session, setSession] = useState<SessionState | null>(null)
  const [prompt, setPrompt] = useState<CodePrompt | null>(null)
  useEffect(() => {
    let account: string | undefined
    const update = (state: SessionState): void => {
      // Another tab has signed in a different account.
      if (account && state.accountBizId && state.accountBizId !== account) location.reload()
      account = state.accountBizId
      setSession(state)
    }
    onCodePrompt(setPrompt)
    void client.session.read().then(update)
    return client.session.onChange(update)
  }, [])
  return (
    <main>
      <h1>Portal</h1>
      {session?.signedIn === true && <Wallets />}
      {session?.signedIn === false && <SignIn />}
      {prompt && <CodeDialog {...prompt} />}
    </main>
  )
}

function SignIn() {
  const signIn = async (valueOf: (name: string) => string): Promise<void> => {
    await client.signIn({ email: valueOf('email'), password: valueOf('password'), attempts: 3, code: askForCode })
  }
  return (
    <Form button="Sign in" onSubmit={signIn}>
      <label>
        Email
        <input name="email" type="email" autoComplete="username" required />
      </label>
      <label>
        Password
        <input name="password" type="password" autoComplete="current-password" required />
      </label>
    </Form>
  )
}
