import type { Portico } from './portico.ts'

export interface Session {
  accessToken: string
  refreshToken: string
  sessionId: string
}

const developmentPassword = 'Portico-demo-2026'

export const codeIn = (text: string): string => {
  const code = /\b\d{6}\b/.exec(text)?.[0]
  if (!code) throw new Error('no code in the mail')
  return code
}

/** Signs in with the password and the mailed code. The default password is the one of seeded accounts. */
export const signIn = async (
  portico: Pick<Portico, 'call' | 'mailTo'>,
  email = 'owner@demo.test',
  headers: Record<string, string> = {},
  password = developmentPassword,
  portal: 'consumer' | 'system' = /^(operator|checker)/.test(email) ? 'system' : 'consumer',
): Promise<Session> => {
  const chain = `/web/v1/${portal}`
  const post = async (path: string, body: object) => {
    const answer = await portico.call('POST', chain + path, { body, headers })
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.text}`)
    return answer.body.data
  }
  const { sessionId } = await post('/auth/login/initiate', { email, password })
  await post('/auth/login/mfa/send', { sessionId, mfaMethod: 'EMAIL' })
  const { text } = await portico.mailTo(email, 'login-code')
  return post('/auth/login/complete', { sessionId, mfaMethod: 'EMAIL', code: codeIn(text) })
}
