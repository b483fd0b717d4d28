// Whatever goes wrong in the page is shown in it, from before the first other script on.
(function () {
  "use strict";
  var box = document.getElementById("errors");
  function show(message) {
    var line = document.createElement("p");
    line.textContent = message;
    box.appendChild(line);
    box.hidden = false;
  }
  window.addEventListener("error", function (event) {
    show("Error in the page: " + event.message);
  });
  window.addEventListener("unhandledrejection", function (event) {
    show("Error in the page: " + event.reason);
  });
  document.addEventListener("securitypolicyviolation", function (event) {
    show("Not allowed in the page: " + event.violatedDirective + " " + event.blockedURI);
  });
})();
