import type { Answer, Call } from '../harness/http.ts'
import { type Portico, startPortico } from '../harness/portico.ts'
import { type Session, signIn } from '../harness/sign-in.ts'

/** Two signed-in seeded consumers. */
export interface AccessWorld {
  portico: Portico
  owner: Session
  member: Session
  call(who: Session, method: 'GET' | 'POST', path: string, call?: Call): Promise<Answer>
  /** Returns `data` and throws unless the status is 200. */
  // biome-ignore lint/suspicious/noExplicitAny: a black-box client has no types
  data(who: Session, method: 'GET' | 'POST', path: string, call?: Call): Promise<any>
  workspace(who: Session, workspaceName: string, workspaceKind?: 'LIVE' | 'SANDBOX'): Promise<string>
}

export async function startAccessWorld(): Promise<AccessWorld> {
  const portico = await startPortico()
  const owner = await signIn(portico)
  const member = await signIn(portico, 'member@demo.test')
  const call: AccessWorld['call'] = (who, method, path, more) =>
    portico.call(method, `/web/v1/consumer${path}`, { token: who.accessToken, ...more })
  const data: AccessWorld['data'] = async (who, method, path, more) => {
    const response = await call(who, method, path, more)
    if (response.status !== 200) throw new Error(`${method} ${path}: ${response.status} ${response.text}`)
    return response.body.data
  }
  const workspace: AccessWorld['workspace'] = async (who, workspaceName, workspaceKind = 'LIVE') =>
    (await data(who, 'POST', '/workspaces', { body: { workspaceName, workspaceKind } })).bizId
  return { portico, owner, member, call, data, workspace }
}
