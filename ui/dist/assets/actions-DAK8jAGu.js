import{aI as e,P as f}from"./index-Bb6sZFtG.js";function s(r,t,o){e(()=>{var a=f(()=>t(r,o?.())||{});if(a?.destroy)return()=>a.destroy()})}export{s as a};
