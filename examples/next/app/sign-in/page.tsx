import { startSignIn } from '../../lib/actions'

export default async function Page({ searchParams }: { searchParams: Promise<Record<string, unknown>> }) {
  return (
    <form action={startSignIn}>
      {'failed' in (await searchParams) && <p role="alert">Sign-in failed. Check the email address and the password.</p>}
      <label>
        Email <input name="email" type="email" autoComplete="username" required />
      </label>
      <label>
        Password <input name="password" type="password" autoComplete="current-password" required />
      </label>
      <button>Sign in</button>
    </form>
  )
}
