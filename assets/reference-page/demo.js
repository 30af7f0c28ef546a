/*
 * Signs a demo account in: password, mailed code, token. The code comes from the development outbox. Only the development
 * profile serves this file.
 */
import { randomId } from './reference.js'

/** The headers of the edge, which development lacks. */
export const edgeHeaders = {
  'X-Forwarded-Proto': 'https',
  'CF-Connecting-IP': '203.0.113.7',
  'Cf-Ray': '8f3a1b2c3d4e5f60',
  'cf-ipcountry': 'DE',
}

const maxWaitMs = 10_000
const pollMs = 200

/** Follows a reference to a component. */
const resolve = (document, { $ref, ...parameter }) =>
  $ref === undefined ? parameter : document.components.parameters[$ref.split('/').at(-1)]

/** Returns the path of an operation and its headers: the authorizations of the page and the examples. */
const findOperation = (system, id) => {
  const document = system.specSelectors.specJson().toJS()
  for (const [path, methods] of Object.entries(document.paths)) {
    const operation = Object.values(methods).find(({ operationId }) => operationId === id)
    if (!operation) continue
    const parameters = operation.parameters.map((parameter) => resolve(document, parameter))
    const examples = parameters.filter((each) => each.in === 'header' && each.example !== undefined)
    const authorized = Object.keys(operation.security[0]).map((name) => [
      document.components.securitySchemes[name].name,
      system.authSelectors.authorized().getIn([name, 'value'], ''),
    ])
    return { path, headers: Object.fromEntries([...authorized, ...examples.map((each) => [each.name, each.example])]) }
  }
  throw new Error(`/openapi.json has no operation ${id}`)
}

const readJson = async (url, options) => {
  const response = await fetch(url, options).catch(() => {
    throw new Error('the gateway does not respond')
  })
  try {
    return { status: response.status, body: await response.json() }
  } catch {
    throw new Error(`${url} responded with status ${response.status} and no JSON`)
  }
}

const call = async (system, id, body) => {
  const { path, headers } = findOperation(system, id)
  const { body: envelope } = await readJson(path, {
    method: 'POST',
    headers: { ...edgeHeaders, ...headers, 'X-Request-Id': randomId(), 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  })
  if (!envelope.success) throw new Error(`${envelope.code}: ${envelope.message}`)
  return envelope
}

const readCodes = async () => {
  const { status, body } = await readJson('/docs/demo-codes.json')
  if (status === 421) throw new Error(`add ${location.hostname} to listen.operationsAllowedHosts in the configuration`)
  if (status !== 200) throw new Error(`the outbox responded with status ${status}`)
  return body
}

/** Waits for a code that was mailed at `since` or later. */
const waitForCode = async (email, since) => {
  for (let waitedMs = 0; waitedMs < maxWaitMs; waitedMs += pollMs) {
    const codes = await readCodes()
    const found = codes.find(({ to, at }) => to === email && Date.parse(at) >= since)
    if (found) return found.code
    await new Promise((done) => setTimeout(done, pollMs))
  }
  throw new Error(`no code for ${email} in the outbox`)
}

const signIn = async (system, { portal, email }, password) => {
  const step = (name, body) => call(system, `${portal.toLowerCase()}.auth.${name}`, body)
  const { data: attempt, timestamp } = await step('loginInitiate', { email, password })
  const { sessionId } = attempt
  if (sessionId === null) throw new Error(`${email} waits for approval`)
  await step('mfaSend', { sessionId, mfaMethod: 'EMAIL' })
  const code = await waitForCode(email, timestamp)
  const { data } = await step('loginComplete', { sessionId, mfaMethod: 'EMAIL', code })
  return data
}

/** The time of day at which a token expires. */
const toTime = (expiresIn) =>
  new Date(Date.now() + expiresIn * 1_000).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })

const idle = { isBusy: false, error: '', text: '', token: null }

export const demoSignIn = ({ React }) => {
  const { createElement, useEffect, useState } = React

  const DemoSignIn = ({ system }) => {
    const [demo, setDemo] = useState({ accounts: [], password: '' })
    const [email, setEmail] = useState('')
    const [state, setState] = useState(idle)
    const fail = ({ message }) => setState({ ...idle, error: `Sign-in failed: ${message}` })
    const load = async () => {
      const { body } = await readJson('/docs/demo.json')
      setDemo(body)
      setEmail(body.accounts[0]?.email ?? '')
    }
    useEffect(() => void load().catch(fail), [])

    const account = demo.accounts.find((each) => each.email === email)
    const start = async () => {
      if (state.isBusy || !account) return
      setState({ ...idle, isBusy: true, text: 'Signing in …' })
      try {
        const { accessToken, expiresIn } = await signIn(system, account, demo.password)
        system.preauthorizeApiKey('accessToken', accessToken)
        const text = `Signed in as ${email} (${account.portal}) until ${toTime(expiresIn)}.`
        setState({ ...idle, text, token: accessToken })
      } catch (error) {
        fail(error)
      }
    }

    const authorized = system.authSelectors.authorized().getIn(['accessToken', 'value'])
    const isCurrent = state.token === null || state.token === authorized
    const options = demo.accounts.map((each) =>
      createElement('option', { key: each.email, value: each.email }, `${each.email} (${each.portal})`),
    )
    const choose = ({ target }) => setEmail(target.value)
    return createElement(
      'div',
      { className: 'demo' },
      createElement('select', { 'aria-label': 'Demo account', value: email, onChange: choose }, options),
      createElement(
        'button',
        { type: 'button', className: 'btn authorize', 'aria-disabled': state.isBusy, onClick: start },
        'Sign in as demo',
      ),
      createElement('p', { role: 'status' }, isCurrent ? state.text : ''),
      createElement('p', { role: 'alert' }, state.error),
    )
  }

  return {
    wrapComponents: {
      AuthorizeBtnContainer: (Original, system) => (props) =>
        createElement(
          React.Fragment,
          null,
          createElement(DemoSignIn, { system: system.getSystem() }),
          createElement(Original, props),
        ),
    },
  }
}
