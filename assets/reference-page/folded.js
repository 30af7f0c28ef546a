/*
 * Folds what is alike in all operations, so that one operation fits on a screen: the prefilled request headers, the
 * response headers, the refusals, and the curl command.
 */
const isRefusal = (_, status) => /^[45]/.test(status)
/** The caller chooses the workspace. The other headers are the same in each request. */
const isFolded = (parameter) => parameter.get('in') === 'header' && parameter.get('name') !== 'X-Workspace-Id'

export const folded = ({ React }) => {
  const { createElement, createContext, useContext, useState } = React
  const RequestHeaders = createContext({})

  /** Renders its content only while it is open. */
  const Details = ({ className, summary, children }) => {
    const [isOpen, setOpen] = useState(false)
    const onToggle = ({ currentTarget }) => setOpen(currentTarget.open)
    return createElement('details', { className, onToggle }, createElement('summary', null, summary), isOpen && children)
  }

  const Responses = (Original) => (props) => {
    const refusals = props.responses.filter(isRefusal)
    const summary = `Refusals: ${refusals.keySeq().join(', ')}`
    const table = createElement(Original, { ...props, responses: refusals, tryItOutResponse: undefined })
    // After a call, the style sheet hides the documented response below the actual one.
    return createElement(
      'div',
      { className: props.tryItOutResponse ? 'called' : '' },
      createElement(Original, { ...props, responses: props.responses.filterNot(isRefusal) }),
      refusals.size > 0 && createElement(Details, { className: 'refusals', summary }, table),
    )
  }

  const ResponseHeaders = (Original) => (props) =>
    createElement(
      Details,
      { className: 'response-headers', summary: `Headers: ${props.headers.keySeq().join(', ')}` },
      createElement(Original, props),
    )

  const Curl = (Original) => (props) =>
    createElement(Details, { className: 'curl', summary: 'Curl' }, createElement(Original, props))

  const Parameters = (Original) => (props) => {
    const [isOpen, setOpen] = useState(false)
    const parameters = props.parameters.sortBy(isFolded)
    const headers = parameters.filter(isFolded)
    const value = { first: headers.first()?.get('name'), count: headers.size, isOpen, toggle: () => setOpen(!isOpen) }
    return createElement(
      RequestHeaders.Provider,
      { value },
      createElement(
        'div',
        { className: isOpen ? '' : 'folds-headers' },
        createElement(Original, { ...props, parameters }),
      ),
    )
  }

  const Toggle = () => {
    const { count, isOpen, toggle } = useContext(RequestHeaders)
    const button = createElement(
      'button',
      { type: 'button', className: 'toggle-headers', 'aria-expanded': isOpen, onClick: toggle },
      `${count} headers with example values`,
    )
    return createElement('tr', null, createElement('td', { colSpan: 2 }, button))
  }

  /** Hidden rows stay in the table, because a row sets the example as the value of the request. */
  const ParameterRow = (Original) => (props) => {
    const { first } = useContext(RequestHeaders)
    const row = createElement(Original, props)
    const isFirst = isFolded(props.rawParam) && props.rawParam.get('name') === first
    return isFirst ? createElement(React.Fragment, null, createElement(Toggle), row) : row
  }

  return {
    wrapComponents: {
      responses: Responses,
      headers: ResponseHeaders,
      curl: Curl,
      parameters: Parameters,
      parameterRow: ParameterRow,
    },
  }
}
