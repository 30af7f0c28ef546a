'use server'

import { cookies } from 'next/headers'
import { redirect } from 'next/navigation'
import { isRefusal } from 'portico-client'
import {
  cookieNames,
  cookieOptions,
  createNewClient,
  createSession,
  deleteCookie,
  endSession,
  getClient,
  startSession,
} from './portico'

/** Next.js runs an action only for a form of the same origin. */
export async function startSignIn(form: FormData): Promise<void> {
  const attempt = await orFailed('/sign-in', async () => {
    const client = await createNewClient(createSession())
    const body = { email: String(form.get('email')), password: String(form.get('password')) }
    const { sessionId, mfaMethods } = await client.initiateLogin({ body })
    if (sessionId === null) return null
    const mfaMethod = mfaMethods[0]?.code === 'OTP' ? 'OTP' : 'EMAIL'
    if (mfaMethod === 'EMAIL') await client.sendLoginCode({ body: { sessionId, mfaMethod } })
    return JSON.stringify({ sessionId, mfaMethod })
  })
  if (attempt === null) redirect('/sign-in?failed')
  ;(await cookies()).set(cookieNames.attempt, attempt, { ...cookieOptions, maxAge: 600 })
  redirect('/sign-in/code')
}

export async function finishSignIn(form: FormData): Promise<void> {
  await orFailed('/sign-in/code', async () => {
    const attempt = JSON.parse((await cookies()).get(cookieNames.attempt)?.value ?? '{}')
    const session = createSession()
    const client = await createNewClient(session)
    await client.session.adopt(await client.completeLogin({ body: { ...attempt, code: String(form.get('code')) } }))
    await startSession(session)
  })
  await deleteCookie('attempt')
  redirect('/')
}

export async function signOut(): Promise<void> {
  const client = await getClient()
  await endSession()
  await client?.signOut()
  redirect('/sign-in')
}

/** Shows the page again if the gateway refuses. */
async function orFailed<T>(page: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isRefusal(error)) throw error
  }
  redirect(`${page}?failed`)
}
