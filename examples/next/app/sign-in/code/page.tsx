import { finishSignIn } from '../../../lib/actions'

export default async function Page({ searchParams }: { searchParams: Promise<Record<string, unknown>> }) {
  return (
    <form action={finishSignIn}>
      {'failed' in (await searchParams) && <p role="alert">Sign-in failed. Check the code, or start again.</p>}
      <label>
        Code <input name="code" inputMode="numeric" autoComplete="one-time-code" required />
      </label>
      <button>Confirm</button>
    </form>
  )
}
