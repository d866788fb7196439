/* Figures to play with. What a reader sets are the inputs of a form; what follows from them is in its data elements. */
"use strict";
{
  const sum = numbers => numbers.reduce((a, b) => a + b, 0)
  const dot = (a, b) => sum(a.map((value, i) => value * b[i]))
  const mix = (weights, vectors) => vectors[0].map((_, j) => dot(weights, vectors.map(vector => vector[j])))

  function softmax(scores) {
    const largest = Math.max(...scores), E = scores.map(score => Math.exp(score - largest)), total = sum(E)
    return E.map(e => e / total)
  }

  /* As the book prints it: two decimals, a real minus sign, no minus zero. */
  function number(value) {
    const text = value.toFixed(2).replace("Infinity", "∞")
    return text == "-0.00" ? "0.00" : text.replace("-", "−")
  }

  /* Put numbers where the form has room for those of this name, and shade their cells. */
  function show(form, name, values, write = number) {
    form.querySelectorAll(`data.${name}`).forEach((place, i) => {
      place.value = values[i]
      place.textContent = write(values[i])
      const cell = place.closest(".cell")
      cell?.style.setProperty("--share", Math.min(Math.max(values[i], 0), 1))
      cell?.classList.toggle("hatched", values[i] == -Infinity)
    })
  }

  const set = (element, attributes) => Object.entries(attributes).forEach(pair => element.setAttribute(...pair))
  const listed = (words, values) => words.map((word, i) => `${word} ${number(values[i])}`).join(", ")

  /* Each gets its form and what it starts from, and returns what to do whenever an input has changed: show the numbers,
     draw, and say in words what there is to see. */
  const figures = {
    arrows(form, {words}) {
      const inputs = [...form.querySelectorAll("input")], svg = form.querySelector("svg")
      const [lines, texts, tips] = ["line", ".tip-name", ".tip"].map(each => [...svg.querySelectorAll(each)])
      const at = ([x, y]) => [120 * x, -120 * y]  // a point of the plane in the drawing

      tips.forEach((tip, i) => {
        tip.addEventListener("touchstart", event => event.preventDefault(), {passive: false})  // the page stays where it is
        tip.addEventListener("pointerdown", event => tip.setPointerCapture(event.pointerId))
        tip.addEventListener("pointermove", event => {
          if (!tip.hasPointerCapture(event.pointerId)) return
          const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse())
          inputs[2 * i].value = point.x / 120
          inputs[2 * i + 1].value = -point.y / 120
          form.dispatchEvent(new Event("input"))
        })
      })

      return () => {
        const X = words.map((_, i) => inputs.slice(2 * i, 2 * i + 2).map(input => input.valueAsNumber))
        const scores = X.map(x => dot(x, X[0])), weights = softmax(scores), mixed = mix(weights, X)
        show(form, "X", X.flat())
        show(form, "score", scores)
        show(form, "weight", weights)
        show(form, "mix", mixed)
        const ends = [...X, mixed]
        ends.forEach((end, i) => {
          const [x, y] = at(end), aside = (i < X.length ? 20 : -20) / (Math.hypot(x, y) || 1)
          set(lines[i], {x2: x, y2: y})
          set(texts[i], {x: x - y * aside, y: y + x * aside})
          if (tips[i]) set(tips[i], {cx: x, cy: y})
        })
        const chain = X.map((_, i) => mix(weights.slice(0, i + 1), X.slice(0, i + 1)))
        set(form.querySelector(".chain"), {points: [[0, 0], ...chain].map(at).join(" ")})
        return `${words[0]} scores ${listed(words, scores)}; weights: ${listed(words, weights)}; ` +
          `mix: ${mixed.map(number).join(", ")}`
      }
    },

    spread(form, {scores, size}) {
      const divided = scores.map(score => score / Math.sqrt(size)), dots = form.querySelectorAll(".axis span")

      return () => {
        const d_k = 2 ** form.elements.power.value, both = [divided.map(score => score * Math.sqrt(d_k)), divided]
        const weights = both.map(softmax), largest = weights.map(row => Math.max(...row))
        form.elements.power.ariaValueText = d_k
        show(form, "size", [d_k], String)
        show(form, "root", [Math.sqrt(d_k)])
        show(form, "weight", weights.flat())
        show(form, "largest", largest)
        show(form, "gradient", weights.map(row => sum(row.map(a => a * (1 - a)))))
        both.flat().forEach((score, i) => dots[i].style.setProperty("--at", score))
        return `d_k ${d_k}: largest weight ${number(largest[0])}, divided ${number(largest[1])}`
      }
    },

    arcs(form, {sentences, weights}) {
      const [words, rows, paths] = [".token", "tr", "svg > path"].map(each => form.querySelectorAll(each))

      return () => {
        const [sentence, head, asks] = ["sentence", "head", "asks"].map(name => Number(form.elements[name].value))
        const tokens = sentences[sentence], A = weights[sentence][head]
        words.forEach((word, i) => word.textContent = tokens[i % tokens.length])
        rows.forEach((row, i) => row.classList.toggle("asks", i == asks))
        show(form, "A", A.flat(), () => "")
        show(form, "weight", A[asks])
        A[asks].forEach((weight, j) => {
          const from = 100 * asks + 50 + 10 * Math.sign(j - asks), to = 100 * j + 50, up = 130 - 40 * Math.abs(j - asks)
          const d = j == asks || !weight ? "" : `M${from} 142C${from} ${up} ${to} ${up} ${to} 138`  // none to itself, or without weight
          set(paths[j], {d, "stroke-width": 1 + 14 * weight})
        })
        const name = form.querySelector("[name=head]:checked").labels[0].textContent.trim()
        return `${name}, ${tokens[asks]} looks at: ${listed(tokens, A[asks])}`
      }
    },

    mask(form, {tokens, scores}) {
      const middle = Math.floor(tokens.length / 2)

      return () => {
        const slider = form.elements.lower, by = slider.value == slider.max ? Infinity : slider.valueAsNumber
        const S = scores.map((row, i) => row.map((score, j) => j > i ? score - by : score)), A = S.map(softmax)
        slider.ariaValueText = by == Infinity ? "infinity" : by
        show(form, "lower", [by])
        show(form, "score", S.flat())
        show(form, "weight", A.flat())
        return `${tokens[middle]} looks at: ${listed(tokens, A[middle])}`
      }
    },
  }

  for (const form of document.querySelectorAll(".play")) {
    const follow = figures[form.classList[1]](form, JSON.parse(form.dataset.start)), said = form.querySelector("output")
    let timer
    const change = () => {
      const words = follow()
      clearTimeout(timer)
      timer = setTimeout(() => said.value = words, 500)  // a screen reader hears where a slider stops, not each step
    }
    form.addEventListener("input", change)
    form.addEventListener("reset", () => setTimeout(change))  // once the inputs have gone back
    follow()
  }
}
